// Reading the small files in which the kernel tells about hardware.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ampere {

// Where /sys is: $AMPERE_SYSFS_ROOT (a recorded tree, for tests and demonstrations), or /sys.
std::filesystem::path sysfs_root();

// A file's text without the white space at its ends, or why there is none.
struct SysfsText {
  std::optional<std::string> text;
  int error = 0;  // errno where text is absent
};
SysfsText read_sysfs(const std::filesystem::path& file);

// Short forms: absent when the file cannot be read or holds something else.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::optional<std::int64_t> read_integer(const std::filesystem::path& file);
std::optional<double> read_number(const std::filesystem::path& file);

// The paths in a folder, sorted by name; none when there is no such folder.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Splits at a separator and trims; empty pieces are dropped.
std::vector<std::string> split_words(const std::string& text, char separator);

}  // namespace ampere
