#include "base/files.h"

#include <fstream>

#include "base/error.h"

namespace ampere {

void require_writable(const std::string& path) {
  if (!std::ofstream(path, std::ios::app))
    throw bad_input(path + ": cannot be written; check the folder of --output");
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error(ErrorKind::kFailed, path + ": cannot be written");
}

}  // namespace ampere
