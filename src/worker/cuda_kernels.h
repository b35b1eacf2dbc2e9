// Which kernels the framework chose, read off a capture.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace ampere::worker {

// Distinct names of the kernels that were captured on this stream so far, sorted; call it while the stream is
// being captured. Empty where the driver cannot tell (before CUDA 12.3).
std::vector<std::string> captured_kernels(cudaStream_t stream);

}  // namespace ampere::worker
