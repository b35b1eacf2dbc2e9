#include "meter/nvml_devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "meter/meter.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

std::optional<std::size_t> to_index(const std::string& word) {
  std::size_t index = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

std::optional<std::size_t> find_gpu(const std::vector<GpuName>& gpus, const std::string& word) {
  if (word.rfind("GPU-", 0) == 0) {
    const auto found = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const GpuName& gpu) { return gpu.uuid.rfind(word, 0) == 0; });
    if (found == gpus.end()) return std::nullopt;
    return static_cast<std::size_t>(found - gpus.begin());
  }
  const auto index = to_index(word);
  return index && *index < gpus.size() ? index : std::nullopt;
}

}  // namespace

std::vector<std::size_t> visible_gpus(const std::vector<GpuName>& gpus, const char* visible,
                                      const char* order) {
  const bool alike = std::all_of(gpus.begin(), gpus.end(),
                                 [&](const GpuName& gpu) { return gpu.model == gpus.front().model; });
  const bool same_order = alike || (order != nullptr && std::string(order) == "PCI_BUS_ID");
  std::vector<std::size_t> list;
  if (visible == nullptr) {
    list.resize(gpus.size());
    std::iota(list.begin(), list.end(), std::size_t{0});
    return list;
  }
  for (const std::string& word : split_words(visible, ',')) {
    if (word.rfind("MIG", 0) == 0) {
      no_meter(
          "meter nvml",
          "CUDA_VISIBLE_DEVICES names the MIG instance " + word +
              "; the energy counter covers the whole GPU, not an instance. Use a whole GPU: sudo nvidia-smi "
              "-mig 0");
    }
    if (to_index(word) && !same_order) {
      no_meter(
          "meter nvml",
          "CUDA_VISIBLE_DEVICES counts GPUs of different models, and CUDA may count them in another order "
          "than the "
          "driver: export CUDA_DEVICE_ORDER=PCI_BUS_ID");
    }
    const auto index = find_gpu(gpus, word);
    if (!index) break;
    list.push_back(*index);
  }
  return list;
}

std::vector<std::size_t> wanted_gpus(const std::vector<std::size_t>& visible, const std::string& wanted) {
  if (wanted.empty()) return visible;
  std::vector<std::size_t> list;
  for (const std::string& word : split_words(wanted, ',')) {
    const auto index = to_index(word);
    if (!index || *index >= visible.size()) {
      throw bad_input("meter nvml:" + wanted + ": there is no visible GPU '" + word + "'; " +
                      std::to_string(visible.size()) + " are visible, counted from 0");
    }
    if (std::find(list.begin(), list.end(), visible[*index]) == list.end()) list.push_back(visible[*index]);
  }
  return list;
}

}  // namespace ampere
