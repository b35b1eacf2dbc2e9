#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() : folder_(fs::path(testing::TempDir()) / ("files-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Files, ANewFileAndAnOldOne) {
  write_file(path("a"), "one");
  EXPECT_EQ(content("a"), "one");
  chmod(path("a").c_str(), 0640);
  write_file(path("a"), "two");
  EXPECT_EQ(content("a"), "two");
  struct stat known {};
  ASSERT_EQ(stat(path("a").c_str(), &known), 0);
  EXPECT_EQ(known.st_mode & 07777, 0640u);
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, TheOldOneStaysWholeWhileTheNewOneIsWritten) {
  write_file(path("a"), "one");
  std::ifstream reader(path("a"));
  write_file(path("a"), "two");
  std::string read;
  reader >> read;
  EXPECT_EQ(read, "one");
}

TEST_F(Files, LinksAreFollowed) {
  fs::create_directory(path("there"));
  fs::create_symlink("there/file", path("link"));
  require_writable(path("link"));
  write_file(path("link"), "one");
  write_file(path("link"), "two");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("there/file"), "two");
  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(write_file(path("circle"), "x"), Error);
}

TEST_F(Files, WhatIsNoPlainFileIsWrittenAsItIs) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/full", path("full"));
  for (const std::string& full : {std::string("/dev/full"), path("full")}) {
    try {
      write_file(full, "x");
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kFailed);
      EXPECT_EQ(std::string(e.what()).find(full + ": cannot be written ("), 0u) << e.what();
    }
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AskingLeavesNothingBehind) {
  require_writable(path("a"));
  EXPECT_EQ(count(), 0u);
  write_file(path("a"), "one");
  require_writable(path("a"));
  EXPECT_EQ(content("a"), "one");
  require_writable("/dev/null");
  for (const std::string& bad : {path(""), path("a/b"), path("no/b"), path("b/"), std::string(),
                                 std::string("/dev/null/x"), path(std::string(300, 'x'))})
    EXPECT_THROW(require_writable(bad), Error) << bad;
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AFolderWhereNoneCanBeMade) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  write_file(path("a"), "one");
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  require_writable(path("a"));
  write_file(path("a"), "two");
  EXPECT_EQ(content("a"), "two");
  EXPECT_THROW(require_writable(path("b")), Error);
  fs::permissions(folder_, fs::perms::owner_all);
}

}  // namespace
}  // namespace ampere
