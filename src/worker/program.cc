#include "worker/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"

namespace ampere::worker {

std::vector<std::pair<std::string, std::string>> arguments(int argc, char** argv) {
  std::vector<std::pair<std::string, std::string>> found;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (const std::size_t at = name.find('='); at != std::string::npos) {
      found.emplace_back(name.substr(0, at), name.substr(at + 1));
    } else if (i + 1 < argc) {
      found.emplace_back(name, argv[++i]);
    } else {
      throw bad_input("unknown argument or missing value: " + name);
    }
  }
  return found;
}

int threads_from(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > 4096) {
    throw bad_input("--threads must be a whole number between 1 and 4096, found \"" + text + "\"");
  }
  return static_cast<int>(value);
}

std::FILE* take_over_stdout() {
  const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return nullptr;
  return fdopen(fd, "w");
}

}  // namespace ampere::worker
