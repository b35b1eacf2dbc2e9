// Which GPUs a process sees.
#pragma once

#include <string>
#include <vector>

namespace ampere {

// One GPU as NVML lists it (in the order of the PCI bus).
struct GpuName {
  std::string uuid;  // "GPU-8932f937-..."
  std::string model;
};

// The indices into `gpus` that CUDA_VISIBLE_DEVICES = `visible` leaves, in its order; all of them when it is
// null. As in CUDA, the list ends at the first entry that names no GPU, and a UUID may be cut short. Throws
// Error{kNoMeter} for MIG instances, and where numbers are ambiguous: CUDA counts fast GPUs first unless
// CUDA_DEVICE_ORDER = `order` is PCI_BUS_ID, which matters when the models differ.
std::vector<std::size_t> visible_gpus(const std::vector<GpuName>& gpus, const char* visible,
                                      const char* order);

// Narrows `visible` to those that `wanted` ("0,1", counted as CUDA counts: among the visible) names; all for
// an empty text. Throws Error{kBadInput} for others.
std::vector<std::size_t> wanted_gpus(const std::vector<std::size_t>& visible, const std::string& wanted);

}  // namespace ampere
