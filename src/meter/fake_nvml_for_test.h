// The driver that tests talk to: a shared library with NVML's functions, whose answers the test sets. Across
// processes: $FAKE_NVML_STATE names a file with the limit (mW) and the locked clock (MHz, 0: none) of the
// first GPU, which then counts 300 W; with $FAKE_NVML_DENY nothing may be set.
#pragma once

#include <string>
#include <vector>

struct FakeSample {
  unsigned long long at_us = 0;
  unsigned long long value = 0;
};

struct FakeGpu {
  unsigned long long energy_mj = 1000000;
  unsigned power_mw = 300000;
  std::string uuid = "GPU-0000";
  std::string model = "Fake GPU";
  int energy_result = 0;  // what nvmlDeviceGetTotalEnergyConsumption returns
  unsigned mig = 0;
  unsigned long long throttle = 0;
  std::vector<FakeSample> samples;  // what nvmlDeviceGetSamples gives; empty: "not found"
  unsigned limit_mw = 700000;       // that was set
  unsigned locked_mhz = 0;          // 0: not locked
  int set_result = 0;               // what setting a limit or a clock returns
};

struct FakeNvml {
  int init_result = 0;
  int initialised = 0;
  unsigned count = 1;
  FakeGpu gpus[4];
};

extern "C" FakeNvml* fake_nvml();
