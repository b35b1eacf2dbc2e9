// Writing files that somebody asked for.
#pragma once

#include <string>

namespace ampere {

// A path of --output that cannot be written is told before the training, not after it: throws
// Error{kBadInput}.
void require_writable(const std::string& path);
// Throws Error{kFailed}.
void write_file(const std::string& path, const std::string& text);

}  // namespace ampere
