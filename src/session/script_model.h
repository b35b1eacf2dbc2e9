// MODEL arguments that are TorchScript files: the worker runs them once and tells what they do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/import.h"
#include "protocol/trace_request.h"
#include "protocol/worker_client.h"

namespace ampere {

// "3x224x224", "int:128", "35xNx200": the shape of one sample of an input; N stands where the batch is, if
// not in front. Throws Error{kBadInput}.
TraceInput parse_input(const std::string& text);

// The file at `path`, which must be readable for the worker. It is run with a batch of two, and with `batch`
// where it takes no other. Throws Error{kBadInput} and what WorkerClient::trace throws.
Imported load_script(const std::string& path, const std::vector<std::string>& inputs, std::int64_t batch,
                     const ImportOptions& options, const WorkerOptions& worker);

}  // namespace ampere
