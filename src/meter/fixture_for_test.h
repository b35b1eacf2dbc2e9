// A copy of a recorded tree that a test may change.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ampere {

class Fixture {
 public:
  explicit Fixture(const std::string& tree) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ampere_meter_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    if (!tree.empty()) {
      std::filesystem::copy(std::filesystem::path(METER_TESTDATA) / tree, root_,
                            std::filesystem::copy_options::recursive);
    }
    std::filesystem::permissions(root_, std::filesystem::perms::all);
  }
  ~Fixture() { std::filesystem::remove_all(root_); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  const std::filesystem::path& root() const { return root_; }
  void set(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void set(const std::string& file, long long value) { set(file, std::to_string(value)); }
  void remove(const std::string& file) { std::filesystem::remove_all(root_ / file); }
  // Nobody but root may read it.
  void deny(const std::string& file) {
    std::filesystem::permissions(root_ / file, std::filesystem::perms::none);
  }

 private:
  std::filesystem::path root_;
};

// Root may read everything, so tests of permissions step down for as long as this lives.
class NotRoot {
 public:
  NotRoot() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) was_root_ = false;
  }
  ~NotRoot() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  bool was_root_;
};

}  // namespace ampere
