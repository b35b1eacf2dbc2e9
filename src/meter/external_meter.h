// Any power monitor that can be made to print: a command, or a log file that grows. Formats:
// external_series.h.
#pragma once

#include <memory>
#include <string>

#include "meter/meter.h"

namespace ampere {

// Runs `command` with the shell and reads the lines it prints for as long as the meter lives; its process
// group is ended with the meter. Waits up to `patience` for two samples. Throws Error{kNoMeter} when they do
// not come or the command ends, Error{kBadInput} for a line that cannot be understood.
std::unique_ptr<Meter> make_exec_meter(const std::string& command, Seconds patience = Seconds(10));

// Follows the lines appended to the file at `path` from now on; otherwise as above.
std::unique_ptr<Meter> make_log_meter(const std::string& path, Seconds patience = Seconds(10));

}  // namespace ampere
