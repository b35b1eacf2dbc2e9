#include "control/settings.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "meter/nvml_devices.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

std::string figure_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

struct ControlledGpu {
  Nvml::Device device = nullptr;
  std::size_t index = 0;
  std::string uuid;
  std::string label;
};

std::vector<ControlledGpu> gpus_of(const Nvml& nvml, const std::string& wanted) {
  unsigned count = 0;
  nvml.device_count(&count);
  std::vector<GpuName> names(count);
  std::vector<Nvml::Device> devices(count, nullptr);
  for (unsigned i = 0; i < count; ++i) {
    char text[96] = "";
    if (nvml.device_by_index(i, &devices[i]) != Nvml::kSuccess) continue;
    if (nvml.device_uuid(devices[i], text, sizeof text) == Nvml::kSuccess) names[i].uuid = text;
    if (nvml.device_name(devices[i], text, sizeof text) == Nvml::kSuccess) names[i].model = text;
  }
  const auto visible =
      visible_gpus(names, std::getenv("CUDA_VISIBLE_DEVICES"), std::getenv("CUDA_DEVICE_ORDER"));
  if (visible.empty())
    throw bad_input(
        "no GPU is visible that could be limited; look at nvidia-smi -L and CUDA_VISIBLE_DEVICES");
  std::vector<ControlledGpu> gpus;
  for (const std::size_t i : wanted_gpus(visible, wanted))
    gpus.push_back({devices[i], i, names[i].uuid, "GPU " + std::to_string(i) + " (" + names[i].model + ")"});
  return gpus;
}

// As a user would say it to nvidia-smi.
std::string smi(const ControlledGpu& gpu, const std::string& option) {
  return "sudo nvidia-smi -i " + std::to_string(gpu.index) + " " + option;
}

[[noreturn]] void not_changed(const Nvml& nvml, int result, const ControlledGpu& gpu, const std::string& what,
                              const std::string& set, const std::string& undo) {
  if (result == Nvml::kNotSupported)
    throw bad_input(gpu.label + ": this GPU or its driver has no " + what + " that can be set");
  if (result == Nvml::kNoPermission)
    throw Error(ErrorKind::kFailed, gpu.label + ": only an administrator may set its " + what +
                                        "; run: " + set + " (and afterwards: " + undo +
                                        "), or run this command as root; nothing was changed");
  throw Error(ErrorKind::kFailed, gpu.label + ": its " + what + " cannot be set: " + nvml.message(result));
}

void check_power(const Nvml& nvml, const ControlledGpu& gpu, double watts) {
  unsigned least = 0, most = 0;
  if (nvml.power_limits_mw == nullptr || nvml.power_limits_mw(gpu.device, &least, &most) != Nvml::kSuccess)
    throw bad_input(gpu.label + ": this GPU or its driver has no power limit that can be set");
  if (watts >= 1e-3 * least && watts <= 1e-3 * most) return;
  throw bad_input(gpu.label + ": a power limit of " + figure_text(watts) + " W cannot be set; it takes " +
                  figure_text(1e-3 * least) + " to " + figure_text(1e-3 * most) + " W");
}

void check_clock(const Nvml& nvml, const ControlledGpu& gpu, double megahertz) {
  unsigned most = 0;
  if (nvml.lock_clocks == nullptr || nvml.release_clocks == nullptr)
    throw bad_input(gpu.label + ": this driver cannot lock clocks");
  const bool known = nvml.most_clock_mhz != nullptr &&
                     nvml.most_clock_mhz(gpu.device, Nvml::kSmClock, &most) == Nvml::kSuccess;
  if (megahertz >= 1 && (!known || megahertz <= most)) return;
  throw bad_input(gpu.label + ": a clock of " + figure_text(megahertz) +
                  " MHz cannot be set; it takes up to " + figure_text(most) + " MHz");
}

Change set_power(const Nvml& nvml, const ControlledGpu& gpu, double watts,
                 const std::function<void(const Undo&)>& promise) {
  unsigned before = 0;
  const int asked =
      nvml.chosen_limit_mw == nullptr ? Nvml::kNotSupported : nvml.chosen_limit_mw(gpu.device, &before);
  if (asked != Nvml::kSuccess || nvml.set_power_limit_mw == nullptr)
    throw bad_input(gpu.label + ": this GPU or its driver does not tell its power limit");
  promise({Undo::Kind::kPowerLimit, gpu.uuid, std::to_string(before)});
  const int result = nvml.set_power_limit_mw(gpu.device, static_cast<unsigned>(std::lround(1e3 * watts)));
  if (result != Nvml::kSuccess)
    not_changed(nvml, result, gpu, "power limit", smi(gpu, "-pl " + figure_text(watts)),
                smi(gpu, "-pl " + figure_text(1e-3 * before)));
  return {gpu.label, "power limit", "W", 1e-3 * before, watts};
}

Change lock_clock(const Nvml& nvml, const ControlledGpu& gpu, double megahertz,
                  const std::function<void(const Undo&)>& promise) {
  const auto clock = static_cast<unsigned>(std::lround(megahertz));
  promise({Undo::Kind::kClockLock, gpu.uuid, ""});
  const int result = nvml.lock_clocks(gpu.device, clock, clock);
  const std::string text = std::to_string(clock);
  if (result != Nvml::kSuccess)
    not_changed(nvml, result, gpu, "clock", smi(gpu, "-lgc " + text + "," + text), smi(gpu, "-rgc"));
  return {gpu.label, "locked clock", "MHz", std::nullopt, static_cast<double>(clock)};
}

struct CpuClock {
  std::string file;    // scaling_max_freq
  std::string before;  // kHz
};

std::vector<CpuClock> cpu_clocks(double megahertz) {
  std::vector<CpuClock> clocks;
  const double kilohertz = 1e3 * megahertz;
  for (const auto& cpu : entries_of(sysfs_root() / "devices/system/cpu")) {
    const auto file = cpu / "cpufreq/scaling_max_freq";
    const auto before = read_text(file);
    if (!before) continue;
    const auto least = read_number(cpu / "cpufreq/cpuinfo_min_freq");
    const auto most = read_number(cpu / "cpufreq/cpuinfo_max_freq");
    if ((least && kilohertz < *least) || (most && kilohertz > *most))
      throw bad_input(cpu.filename().string() + ": a clock of " + figure_text(megahertz) +
                      " MHz cannot be set; it takes " + figure_text(1e-3 * least.value_or(0)) + " to " +
                      figure_text(1e-3 * most.value_or(0)) + " MHz");
    clocks.push_back({file.string(), *before});
  }
  if (clocks.empty())
    throw bad_input(
        "no CPU here has a clock that can be limited (cpufreq); on most virtual machines the host keeps that "
        "to "
        "itself");
  return clocks;
}

Change set_cpu_clocks(const std::vector<CpuClock>& clocks, double megahertz,
                      const std::function<void(const Undo&)>& promise) {
  const std::string text = std::to_string(std::lround(1e3 * megahertz));
  for (const CpuClock& clock : clocks) {
    promise({Undo::Kind::kSysfs, clock.file, clock.before});
    try {
      write_sysfs(clock.file, text);
    } catch (const Error& e) {
      throw Error(ErrorKind::kFailed, std::string(e.what()) + "; an administrator can run: echo " + text +
                                          " | sudo tee " + (sysfs_root() / "devices/system/cpu").string() +
                                          "/cpu*/cpufreq/scaling_max_freq (before it was " + clock.before +
                                          "), or run this command as root; nothing stays changed");
    }
  }
  return {"all CPUs", "highest clock", "MHz", 1e-3 * std::strtod(clocks.front().before.c_str(), nullptr),
          megahertz};
}

}  // namespace

AppliedSettings apply_settings(const WantedSettings& wanted,
                               const std::function<void(const Undo&)>& promise) {
  AppliedSettings applied;
  std::vector<ControlledGpu> gpus;
  if (wanted.of_gpus()) {
    applied.driver = load_nvml();
    gpus = gpus_of(*applied.driver, wanted.gpus);
  }
  for (const ControlledGpu& gpu : gpus) {
    if (wanted.power_limit_w) check_power(*applied.driver, gpu, *wanted.power_limit_w);
    if (wanted.clock_mhz) check_clock(*applied.driver, gpu, *wanted.clock_mhz);
  }
  std::vector<CpuClock> clocks;
  if (wanted.cpu_clock_mhz) clocks = cpu_clocks(*wanted.cpu_clock_mhz);
  for (const ControlledGpu& gpu : gpus) {
    if (wanted.power_limit_w)
      applied.changes.push_back(set_power(*applied.driver, gpu, *wanted.power_limit_w, promise));
    if (wanted.clock_mhz)
      applied.changes.push_back(lock_clock(*applied.driver, gpu, *wanted.clock_mhz, promise));
  }
  if (wanted.cpu_clock_mhz) applied.changes.push_back(set_cpu_clocks(clocks, *wanted.cpu_clock_mhz, promise));
  return applied;
}

}  // namespace ampere
