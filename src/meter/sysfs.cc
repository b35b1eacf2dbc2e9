#include "meter/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace ampere {
namespace {

std::string trimmed(const std::string& text) {
  const char* blank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

template <class Number>
std::optional<Number> parse(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  Number value{};
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::filesystem::path sysfs_root() {
  const char* root = std::getenv("AMPERE_SYSFS_ROOT");
  return root != nullptr && *root != '\0' ? root : "/sys";
}

SysfsText read_sysfs(const std::filesystem::path& file) {
  // Plain system calls, because streams hide errno: "permission denied" must reach the user as such.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {std::nullopt, errno};
  char buffer[4096];
  const ssize_t size = read(fd, buffer, sizeof buffer);
  const int error = errno;
  close(fd);
  if (size < 0) return {std::nullopt, error};
  return {trimmed(std::string(buffer, static_cast<std::size_t>(size))), 0};
}

std::optional<std::string> read_text(const std::filesystem::path& file) { return read_sysfs(file).text; }
std::optional<std::int64_t> read_integer(const std::filesystem::path& file) {
  return parse<std::int64_t>(read_text(file));
}
std::optional<double> read_number(const std::filesystem::path& file) {
  return parse<double>(read_text(file));
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string> split_words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    std::string word = trimmed(text.substr(start, end - start));
    if (!word.empty()) words.push_back(std::move(word));
    start = end + 1;
  }
  return words;
}

}  // namespace ampere
