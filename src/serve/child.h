// Processes of their own for what strangers send: limited in memory and time, and killed with the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ampere {

struct ChildOptions {
  std::uint64_t most_bytes = 0;  // of address space; 0: no limit
  double most_s = 0;             // of the clock, and of CPU time; 0: no limit
  std::size_t most_output = 64u << 20;
  std::uint64_t most_file_bytes = 0;  // of each file that it writes; 0: no limit
  std::vector<int> cores = {};        // that it may run on; empty: those of this process
  // Asked several times a second; true ends it with SIGTERM.
  std::function<bool()> stop = {};
  // Lines that it writes to standard error, as they come.
  std::function<void(const std::string&)> on_line = {};
};

struct ChildEnd {
  int status = 0;  // of exit; -1: a signal ended it
  bool late = false;
  bool too_much = false;  // it wrote more than most_output
  bool stopped = false;
  std::string output;
  std::string errors;  // the last 16 KiB
};

// Runs a program with these arguments, no shell between, in a process group of its own and an empty standard
// input. The group is killed when the program ends, is late, or the calling thread ends. Throws
// Error{kFailed} when it cannot be started.
ChildEnd run_child(const std::vector<std::string>& command, const ChildOptions& options);

}  // namespace ampere
