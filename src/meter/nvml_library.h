// NVIDIA's management library, loaded at run time: no header and no library is needed to build.
#pragma once

#include <memory>
#include <string>

namespace ampere {

// The functions used, under the names and with the types of NVIDIA's nvml.h (NVML API Reference Guide). All
// but the first group may be missing in old drivers and are null then.
struct Nvml {
  using Device = struct nvmlDevice_st*;
  static constexpr int kSuccess = 0;
  static constexpr int kNotSupported = 3;
  static constexpr int kNoPermission = 4;
  static constexpr unsigned kSmClock = 1;         // NVML_CLOCK_SM
  static constexpr unsigned kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU
  static constexpr unsigned kMigEnabled = 1;      // NVML_DEVICE_MIG_ENABLE
  static constexpr unsigned kPowerSamples = 0;    // NVML_TOTAL_POWER_SAMPLES
  static constexpr unsigned kUnsignedInt = 1;     // NVML_VALUE_TYPE_UNSIGNED_INT

  // nvmlSample_t, whose value is a union that we read as the unsigned int that power comes as.
  struct Sample {
    unsigned long long at_us;  // since 1970
    union {
      unsigned value;
      unsigned long long whole;
    };
  };

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, Device*) = nullptr;
  int (*device_name)(Device, char*, unsigned) = nullptr;
  int (*device_uuid)(Device, char*, unsigned) = nullptr;

  int (*total_energy_mj)(Device, unsigned long long*) = nullptr;
  int (*power_mw)(Device, unsigned*) = nullptr;
  int (*mig_mode)(Device, unsigned* current, unsigned* pending) = nullptr;
  int (*temperature_c)(Device, unsigned sensor, unsigned*) = nullptr;
  int (*clock_mhz)(Device, unsigned type, unsigned*) = nullptr;
  int (*power_limit_mw)(Device, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  // The limit that was set, which others (a chassis, say) may undercut; what it may be set to; setting it.
  int (*chosen_limit_mw)(Device, unsigned*) = nullptr;
  int (*power_limits_mw)(Device, unsigned* least, unsigned* most) = nullptr;
  int (*set_power_limit_mw)(Device, unsigned) = nullptr;
  int (*most_clock_mhz)(Device, unsigned type, unsigned*) = nullptr;
  // A lock cannot be read back.
  int (*lock_clocks)(Device, unsigned least_mhz, unsigned most_mhz) = nullptr;
  int (*release_clocks)(Device) = nullptr;
  // Without room for samples it tells how many there may be.
  int (*samples)(Device, unsigned type, unsigned long long newer_than_us, unsigned* value_type,
                 unsigned* count, Sample*) = nullptr;

  std::string message(int result) const;
};

// Loads $AMPERE_NVML_LIBRARY, or libnvidia-ml.so.1, and initialises it; shut down and unloaded with the last
// owner. Throws Error{kNoMeter} with why and the fix.
std::shared_ptr<const Nvml> load_nvml();

}  // namespace ampere
