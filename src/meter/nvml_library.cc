#include "meter/nvml_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"
#include "meter/meter.h"

namespace ampere {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

void find_all(void* library, Nvml& nvml) {
  find(library, "nvmlInit_v2", nvml.init);
  find(library, "nvmlShutdown", nvml.shutdown);
  find(library, "nvmlErrorString", nvml.error_string);
  find(library, "nvmlDeviceGetCount_v2", nvml.device_count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device_by_index);
  find(library, "nvmlDeviceGetName", nvml.device_name);
  find(library, "nvmlDeviceGetUUID", nvml.device_uuid);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.total_energy_mj);
  find(library, "nvmlDeviceGetPowerUsage", nvml.power_mw);
  find(library, "nvmlDeviceGetMigMode", nvml.mig_mode);
  find(library, "nvmlDeviceGetTemperature", nvml.temperature_c);
  find(library, "nvmlDeviceGetClockInfo", nvml.clock_mhz);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit_mw);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle_reasons);
  find(library, "nvmlDeviceGetSamples", nvml.samples);
  find(library, "nvmlDeviceGetPowerManagementLimit", nvml.chosen_limit_mw);
  find(library, "nvmlDeviceGetPowerManagementLimitConstraints", nvml.power_limits_mw);
  find(library, "nvmlDeviceSetPowerManagementLimit", nvml.set_power_limit_mw);
  find(library, "nvmlDeviceGetMaxClockInfo", nvml.most_clock_mhz);
  find(library, "nvmlDeviceSetGpuLockedClocks", nvml.lock_clocks);
  find(library, "nvmlDeviceResetGpuLockedClocks", nvml.release_clocks);
}

bool complete(const Nvml& nvml) {
  return nvml.init && nvml.shutdown && nvml.error_string && nvml.device_count && nvml.device_by_index &&
         nvml.device_name && nvml.device_uuid;
}

// The table together with the library it points into.
struct Loaded {
  void* library = nullptr;
  bool ready = false;
  Nvml nvml;

  Loaded() = default;
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (ready) nvml.shutdown();
    if (library != nullptr) dlclose(library);
  }
};

}  // namespace

std::string Nvml::message(int result) const {
  const char* text = error_string != nullptr ? error_string(result) : nullptr;
  return text != nullptr ? text : "error " + std::to_string(result);
}

std::shared_ptr<const Nvml> load_nvml() {
  const char* chosen = std::getenv("AMPERE_NVML_LIBRARY");
  const std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1";
  const auto loaded = std::make_shared<Loaded>();
  loaded->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded->library == nullptr) {
    no_meter("meter nvml", path +
                               " cannot be loaded: there is no NVIDIA driver here. With an NVIDIA GPU, "
                               "install the driver (Debian: "
                               "sudo apt install nvidia-driver); in a container, start it with --gpus all");
  }
  find_all(loaded->library, loaded->nvml);
  if (!complete(loaded->nvml))
    no_meter("meter nvml", path + " is too old or not NVIDIA's: install a current driver");
  const int result = loaded->nvml.init();
  if (result != Nvml::kSuccess) {
    no_meter("meter nvml",
             "the driver does not answer (" + loaded->nvml.message(result) + "); nvidia-smi should say why");
  }
  loaded->ready = true;
  return {loaded, &loaded->nvml};
}

}  // namespace ampere
