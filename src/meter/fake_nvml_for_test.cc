#include "meter/fake_nvml_for_test.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

FakeNvml* fake_nvml() {
  static FakeNvml state;
  return &state;
}

namespace {
FakeGpu& gpu(void* device) { return *static_cast<FakeGpu*>(device); }

constexpr unsigned kLeastLimit = 200000;
constexpr unsigned kMostLimit = 700000;

const char* state_file() { return std::getenv("FAKE_NVML_STATE"); }

// The GPU as the file has it, where there is one.
FakeGpu& current(void* device) {
  FakeGpu& found = gpu(device);
  if (state_file() != nullptr) std::ifstream(state_file()) >> found.limit_mw >> found.locked_mhz;
  return found;
}

int keep(const FakeGpu& changed) {
  if (state_file() == nullptr) return 0;
  // In one step, so that a reader never sees half of it.
  const std::string beside = std::string(state_file()) + ".new";
  std::ofstream(beside) << changed.limit_mw << " " << changed.locked_mhz << "\n";
  return std::rename(beside.c_str(), state_file());
}

int refusal(const FakeGpu& asked) { return std::getenv("FAKE_NVML_DENY") != nullptr ? 4 : asked.set_result; }
}  // namespace

extern "C" {
int nvmlInit_v2() {
  if (fake_nvml()->init_result == 0) ++fake_nvml()->initialised;
  return fake_nvml()->init_result;
}
int nvmlShutdown() {
  --fake_nvml()->initialised;
  return 0;
}
const char* nvmlErrorString(int result) { return result == 15 ? "GPU is lost" : "some error"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = fake_nvml()->count;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= fake_nvml()->count) return 2;
  *device = &fake_nvml()->gpus[index];
  return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", gpu(device).model.c_str());
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", gpu(device).uuid.c_str());
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = gpu(device).energy_mj;
  if (state_file() != nullptr)
    *millijoules = static_cast<unsigned long long>(
        300e3 * std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  return gpu(device).energy_result;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = gpu(device).power_mw;
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = gpu(device).mig;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* degrees) {
  *degrees = 61;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1980 : 0;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* milliwatts) {
  *milliwatts = current(device).limit_mw;
  return 0;
}
int nvmlDeviceGetPowerManagementLimitConstraints(void*, unsigned* least, unsigned* most) {
  *least = kLeastLimit;
  *most = kMostLimit;
  return 0;
}
int nvmlDeviceSetPowerManagementLimit(void* device, unsigned milliwatts) {
  FakeGpu& changed = current(device);
  if (refusal(changed) != 0) return refusal(changed);
  if (milliwatts < kLeastLimit || milliwatts > kMostLimit) return 2;
  changed.limit_mw = milliwatts;
  return keep(changed);
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1980 : 0;
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void* device, unsigned, unsigned most) {
  FakeGpu& changed = current(device);
  if (refusal(changed) != 0) return refusal(changed);
  changed.locked_mhz = most;
  return keep(changed);
}
int nvmlDeviceResetGpuLockedClocks(void* device) {
  FakeGpu& changed = current(device);
  if (refusal(changed) != 0) return refusal(changed);
  changed.locked_mhz = 0;
  return keep(changed);
}
int nvmlDeviceGetSamples(void* device, unsigned, unsigned long long, unsigned* type, unsigned* count,
                         FakeSample* samples) {
  const auto& kept = gpu(device).samples;
  if (kept.empty()) return 6;
  *type = 1;
  // As the driver does: more than there are, when it is asked how many.
  if (samples == nullptr) {
    *count = static_cast<unsigned>(kept.size()) + 1;
    return 0;
  }
  *count = static_cast<unsigned>(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) samples[i] = kept[i];
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = gpu(device).throttle;
  return 0;
}
}
