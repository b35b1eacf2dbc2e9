// Running a program with a meter around it.
#pragma once

#include <string>
#include <vector>

#include "meter/meter.h"

namespace ampere {

struct MeteredRun {
  Joules energy;
  Seconds time;
  int exit_status = 0;  // as a shell gives it: 128 + n when signal n ended the program
};

// Runs the program with this one's standard streams and waits for it. Throws Error{kBadInput} when it
// cannot be started.
MeteredRun run_command(const std::vector<std::string>& command, Meter& meter);

}  // namespace ampere
