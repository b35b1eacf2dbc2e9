// What the main files of workers share.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace ampere::worker {

// "--name value" and "--name=value" as pairs. Throws Error{kBadInput} where a value is missing.
std::vector<std::pair<std::string, std::string>> arguments(int argc, char** argv);

// The value of --threads. Throws Error{kBadInput} for what is no sensible number.
int threads_from(const std::string& text);

// Standard output belongs to the protocol alone: whatever a library prints goes to standard error from now
// on. Null where it is closed.
std::FILE* take_over_stdout();

}  // namespace ampere::worker
