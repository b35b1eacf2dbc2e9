#include "worker/idx.h"

#ifdef AMPERE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/error.h"

namespace ampere::worker {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30;

// Reads up to so many bytes; fewer only at the end.
using Read = std::function<std::size_t(std::uint8_t*, std::size_t)>;

Error broken(const std::string& path, const std::string& what) { return bad_input(path + ": " + what); }

IdxArray parse(const std::string& path, const Read& read) {
  const auto bytes = [&](std::size_t n) {
    std::vector<std::uint8_t> out(n);
    if (read(out.data(), n) != n) throw broken(path, "the file ends early; is it complete?");
    return out;
  };
  const std::vector<std::uint8_t> magic = bytes(4);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] < 1 || magic[3] > 4)
    throw broken(path, "not an IDX file of unsigned bytes");
  IdxArray array;
  std::size_t size = 1;
  for (int d = 0; d < magic[3]; ++d) {
    const std::vector<std::uint8_t> b = bytes(4);  // big-endian
    const std::int64_t n = (std::int64_t{b[0]} << 24) | (b[1] << 16) | (b[2] << 8) | b[3];
    if (n < 1 || size > kMostBytes / static_cast<std::size_t>(n))
      throw broken(path, "its sizes are impossible");
    array.dims.push_back(n);
    size *= static_cast<std::size_t>(n);
  }
  array.values = bytes(size);
  return array;
}

IdxArray read_plain(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw broken(path, "cannot be read");
  return parse(path, [&](std::uint8_t* to, std::size_t n) { return std::fread(to, 1, n, file.get()); });
}

IdxArray read_gzipped(const std::string& path) {
#ifdef AMPERE_ZLIB
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw broken(path, "cannot be read");
  return parse(path, [&](std::uint8_t* to, std::size_t n) {
    std::size_t done = 0;
    while (done < n) {
      const auto piece = static_cast<unsigned>(std::min<std::size_t>(n - done, 1U << 30));
      const int got = gzread(file.get(), to + done, piece);
      if (got < 0) throw broken(path, "not a whole gzip file");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  });
#else
  throw broken(path, "this worker was built without zlib; unpack the file first: gunzip --keep " + path);
#endif
}

ImageSet read_set(const std::string& folder, const std::string& prefix) {
  ImageSet set{read_idx(folder + "/" + prefix + "-images-idx3-ubyte"),
               read_idx(folder + "/" + prefix + "-labels-idx1-ubyte")};
  if (set.images.dims.size() != 3 || set.labels.dims.size() != 1 || set.images.dims[0] != set.labels.dims[0])
    throw broken(folder, "the images and labels of " + prefix + " do not fit each other");
  return set;
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return read_plain(path);
  if (std::filesystem::exists(path + ".gz", error)) return read_gzipped(path + ".gz");
  throw bad_input("neither " + path + " nor " + path +
                  ".gz is there, on the worker's machine; Fashion-MNIST comes with Debian's package "
                  "dataset-fashion-mnist");
}

ImageData read_image_data(const std::string& folder) {
  ImageData data{read_set(folder, "train"), read_set(folder, "t10k"), 0};
  if (!std::equal(data.train.images.dims.begin() + 1, data.train.images.dims.end(),
                  data.test.images.dims.begin() + 1, data.test.images.dims.end()))
    throw broken(folder, "images for training and testing differ in size");
  for (const ImageSet* set : {&data.train, &data.test}) {
    const auto& labels = set->labels.values;
    data.classes = std::max<std::int64_t>(data.classes, *std::max_element(labels.begin(), labels.end()) + 1);
  }
  return data;
}

}  // namespace ampere::worker
