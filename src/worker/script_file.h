// TorchScript files: loading one and running it once.
#pragma once

#include "network/recorded_pass.h"
#include "protocol/trace_request.h"

namespace ampere::worker {

// Throws Error{kBadInput} when there is no such file that can be read here, and says where "here" is.
void require_file(const std::string& path);

// Loads the file to the CPU, runs its forward pass once in training mode on random inputs, and tells which
// ops that took. `locked`: once the file is open this process gives up opening files and taking more memory
// than is free, for good: the file holds a program of a stranger. Throws Error{kBadInput} with the file's
// name.
RecordedPass run_script_file(const TraceRequest& request, bool locked);

}  // namespace ampere::worker
