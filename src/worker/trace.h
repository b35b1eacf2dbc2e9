// The verb "trace": what one forward pass of a TorchScript file does.
#pragma once

#include <string>

#include "base/json.h"

namespace ampere::worker {

struct TraceOptions {
  // Command of a worker that does it instead, so that a file that loops, crashes or eats memory ends that
  // one; empty: this process does it itself.
  std::string tracer;
  bool locked = false;  // see run_script_file
};

// The result of the request (recorded_pass.h). Throws Error{kBadInput} for files that cannot be run within
// the request's time.
Json trace(const Json& params, const TraceOptions& options);

// The command that starts this program again as a tracer; empty when it cannot be told.
std::string tracer_command();

// For a tracer: ends with the process that started it.
void end_with_parent();

}  // namespace ampere::worker
