#include "worker/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "worker/image_data_for_test.h"

namespace ampere::worker {
namespace {

std::string file(const std::string& name) { return testing::TempDir() + "ampere_idx_" + name; }

std::string error_of(const std::string& path) {
  try {
    read_idx(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  ADD_FAILURE() << path << ": no error";
  return "";
}

TEST(Idx, ReadsWhatWasWritten) {
  write_idx(file("plain"), {2, 3}, {1, 2, 3, 4, 5, 255});
  const IdxArray array = read_idx(file("plain"));
  EXPECT_EQ(array.dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array.values, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255}));
  std::filesystem::remove(file("zipped.gz"));
  std::filesystem::copy_file(file("plain"), file("zipped"),
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_EQ(std::system(("gzip " + file("zipped")).c_str()), 0);
  EXPECT_EQ(read_idx(file("zipped")).values, array.values);
}

TEST(Idx, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(error_of(file("absent")), testing::HasSubstr("dataset-fashion-mnist"));
  write_idx(file("short"), {2, 3}, {1, 2});
  EXPECT_THAT(error_of(file("short")), testing::HasSubstr("ends early"));
  write_idx(file("empty"), {0}, {});
  EXPECT_THAT(error_of(file("empty")), testing::HasSubstr("impossible"));
  write_idx(file("huge"), {2000000000, 2000000000, 2000000000}, {});
  EXPECT_THAT(error_of(file("huge")), testing::HasSubstr("impossible"));
  std::ofstream(file("text")) << "label,image\n";
  EXPECT_THAT(error_of(file("text")), testing::HasSubstr("not an IDX file"));
  std::ofstream(file("nogz.gz")) << "no gzip at all";
  EXPECT_THAT(error_of(file("nogz")), testing::HasSubstr("IDX"));
}

TEST(Idx, SetsMustFitTogether) {
  const std::string folder = file("set");
  write_stripes(folder, 20, 10);
  const ImageData data = read_image_data(folder);
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.train.images.dims, (std::vector<std::int64_t>{20, 8, 8}));
  write_idx(folder + "/t10k-labels-idx1-ubyte", {3}, {0, 1, 0});
  EXPECT_THROW(read_image_data(folder), Error);
}

}  // namespace
}  // namespace ampere::worker
