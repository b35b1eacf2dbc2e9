// Running a program with a meter around it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "meter/meter.h"

namespace ampere {

struct MeteredRun {
  Joules energy;
  Seconds time;     // of the program
  Seconds metered;  // between the readings that the energy is of: a little longer, on a busy machine a lot
  int exit_status = 0;  // as a shell gives it: 128 + n when signal n ended the program
  // Processes that the program had started and that were still running when it ended. What they take, a meter
  // of processes (cpu-model) does not see, and other meters only until then.
  int still_running = 0;
};

// Runs the program with this one's standard streams and waits for it; what it had started in the background
// and has ended by then is counted, too. `pass_signals_on`: SIGTERM and SIGHUP go to the program instead of
// ending this one. Throws Error{kBadInput} when it cannot be started.
MeteredRun run_command(const std::vector<std::string>& command, Meter& meter, bool pass_signals_on = false);

// What it took: as JSON, and on standard error.
Json figures_json(const std::vector<std::string>& command, const MeteredRun& run, const MeterInfo& info);
void tell_figures(const MeteredRun& run, const MeterInfo& info, bool quiet);

}  // namespace ampere
