#include "meter/fake_nvml_for_test.h"

#include <cstdio>

FakeNvml* fake_nvml() {
  static FakeNvml state;
  return &state;
}

namespace {
FakeGpu& gpu(void* device) { return *static_cast<FakeGpu*>(device); }
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
