// Writing files that somebody asked for.
#pragma once

#include <string>

namespace ampere {

// A path of --output that cannot be written is told before the training, not after it: throws
// Error{kBadInput}. Neither makes nor changes the file.
void require_writable(const std::string& path);

// Writes a file beside `path` and then puts it in its place, so that a full disk or a kill leaves what was
// there before. Links are followed, and the file keeps its permissions. What is no plain file (/dev/stdout, a
// pipe), and a file in a folder where none can be made, is written as it is. Throws Error{kFailed}.
void write_file(const std::string& path, const std::string& text);

}  // namespace ampere
