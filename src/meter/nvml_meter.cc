#include "meter/nvml_meter.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "meter/combined_meter.h"
#include "meter/lockstep.h"
#include "meter/nvml_devices.h"
#include "meter/nvml_library.h"
#include "meter/only_forward.h"

namespace ampere {
namespace {

struct Gpu {
  Nvml::Device device;
  std::string label;  // "GPU 0 (NVIDIA H200)"
  OnlyForward forward;
};

struct Reason {
  unsigned long long bit;
  const char* word;
};

// Bits of nvmlClocksEventReasons that mean "slower than it could be"; being idle does not.
constexpr Reason kReasons[] = {
    {0x02, "application clocks"}, {0x04, "power cap"},       {0x08, "hardware slowdown"},
    {0x10, "sync boost"},         {0x20, "thermal"},         {0x40, "hardware thermal"},
    {0x80, "power brake"},        {0x100, "display clocks"},
};

constexpr unsigned kMostSamples = 1u << 20;  // what a driver that is out of its mind may not ask for

class NvmlMeter : public Meter {
 public:
  explicit NvmlMeter(const std::string& wanted) : nvml_(load_nvml()) {
    const std::vector<GpuName> names = all_names();
    const auto visible =
        visible_gpus(names, std::getenv("CUDA_VISIBLE_DEVICES"), std::getenv("CUDA_DEVICE_ORDER"));
    if (visible.empty())
      no_meter("meter nvml", "no GPU is visible; look at nvidia-smi -L and at CUDA_VISIBLE_DEVICES");
    std::string list;
    for (const std::size_t index : wanted_gpus(visible, wanted)) {
      gpus_.push_back(
          {device_at(index), "GPU " + std::to_string(index) + " (" + names[index].model + ")", {}});
      refuse_mig(gpus_.back());
      energy_of(gpus_.back());  // throws where there is no counter
      list += (list.empty() ? "" : ", ") + gpus_.back().label;
    }
    info_ = {"nvml", "gpu", false, "energy counter of " + list};
  }
  const MeterInfo& info() const override { return info_; }

  // A read takes milliseconds on some machines; the counter is looked at somewhere in between.
  Reading read() override {
    const Seconds start = now();
    std::vector<Joules> energies;
    for (Gpu& gpu : gpus_) energies.push_back(gpu.forward.pass(energy_of(gpu), "meter nvml: " + gpu.label));
    return {sum_.add_up(energies), (start + now()) / 2};
  }

  std::optional<Watts> power() override {
    Watts sum;
    for (const Gpu& gpu : gpus_) {
      const auto milliwatts = ask<unsigned>(nvml_->power_mw, gpu.device);
      if (!milliwatts) return std::nullopt;
      sum += Watts(1e-3 * *milliwatts);
    }
    return sum;
  }

  // A buffer of some two seconds, a sample every 20 ms (an H200, driver 580). Several GPUs are not sampled
  // together.
  std::vector<PowerSample> samples() override {
    if (gpus_.size() != 1 || nvml_->samples == nullptr) return {};
    unsigned type = 0;
    unsigned count = 0;
    const Nvml::Device device = gpus_.front().device;
    if (nvml_->samples(device, Nvml::kPowerSamples, 0, &type, &count, nullptr) != Nvml::kSuccess) return {};
    if (count == 0 || count > kMostSamples) return {};
    std::vector<Nvml::Sample> found(count);
    const unsigned room = count;
    if (nvml_->samples(device, Nvml::kPowerSamples, 0, &type, &count, found.data()) != Nvml::kSuccess)
      return {};
    if (type != Nvml::kUnsignedInt) return {};
    found.resize(std::min(count, room));
    // The driver stamps with the time of day.
    const double day_s =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const double offset_s = now().value() - day_s;
    std::vector<PowerSample> samples;
    samples.reserve(found.size());
    for (const Nvml::Sample& sample : found) {
      samples.push_back(
          {Seconds(1e-6 * static_cast<double>(sample.at_us) + offset_s), Watts(1e-3 * sample.value)});
    }
    return samples;
  }

  DeviceState state() override {
    std::vector<DeviceState> states;
    for (const Gpu& gpu : gpus_) states.push_back(state_of(gpu.device));
    return merge_states(states);
  }

 private:
  // Optional facts: absent where the driver does not know the question or the answer.
  template <class Value, class Function, class... Arguments>
  static std::optional<Value> ask(Function function, Arguments... arguments) {
    Value value{};
    if (function == nullptr || function(arguments..., &value) != Nvml::kSuccess) return std::nullopt;
    return value;
  }

  std::vector<GpuName> all_names() const {
    std::vector<GpuName> names(ask<unsigned>(nvml_->device_count).value_or(0));
    if (names.empty()) no_meter("meter nvml", "the driver lists no GPU; nvidia-smi -L should show one");
    for (std::size_t i = 0; i < names.size(); ++i) {
      char text[96] = "";
      const Nvml::Device device = device_at(i);
      if (nvml_->device_uuid(device, text, sizeof text) == Nvml::kSuccess) names[i].uuid = text;
      if (nvml_->device_name(device, text, sizeof text) == Nvml::kSuccess) names[i].model = text;
    }
    return names;
  }

  Nvml::Device device_at(std::size_t index) const {
    Nvml::Device device = nullptr;
    const int result = nvml_->device_by_index(static_cast<unsigned>(index), &device);
    if (result != Nvml::kSuccess)
      no_meter("meter nvml", "GPU " + std::to_string(index) + ": " + nvml_->message(result));
    return device;
  }

  void refuse_mig(const Gpu& gpu) const {
    unsigned current = 0;
    unsigned pending = 0;
    if (nvml_->mig_mode == nullptr || nvml_->mig_mode(gpu.device, &current, &pending) != Nvml::kSuccess)
      return;
    if (current != Nvml::kMigEnabled) return;
    no_meter(
        "meter nvml",
        gpu.label +
            " is split into MIG instances; its energy counter covers all of them, also those of others. Use "
            "a whole "
            "GPU: sudo nvidia-smi -mig 0");
  }

  Joules energy_of(const Gpu& gpu) const {
    unsigned long long millijoules = 0;
    const int result = nvml_->total_energy_mj == nullptr ? Nvml::kNotSupported
                                                         : nvml_->total_energy_mj(gpu.device, &millijoules);
    if (result == Nvml::kSuccess) return Joules(1e-3 * static_cast<double>(millijoules));
    if (result == Nvml::kNotSupported) {
      no_meter("meter nvml",
               gpu.label +
                   " has no energy counter (GPUs before Volta and some virtual GPUs do not); attach another "
                   "meter, such as "
                   "--meter exec:COMMAND");
    }
    no_meter("meter nvml", gpu.label + ": the energy counter cannot be read: " + nvml_->message(result));
  }

  DeviceState state_of(Nvml::Device device) const {
    DeviceState state;
    state.temperature_c = ask<unsigned>(nvml_->temperature_c, device, Nvml::kGpuTemperature);
    state.clock_mhz = ask<unsigned>(nvml_->clock_mhz, device, Nvml::kSmClock);
    if (const auto limit = ask<unsigned>(nvml_->power_limit_mw, device))
      state.power_limit = Watts(1e-3 * *limit);
    const unsigned long long bits = ask<unsigned long long>(nvml_->throttle_reasons, device).value_or(0);
    for (const Reason& reason : kReasons) {
      if ((bits & reason.bit) != 0) state.throttle.emplace_back(reason.word);
    }
    return state;
  }

  std::shared_ptr<const Nvml> nvml_;
  std::vector<Gpu> gpus_;
  MeterInfo info_;
  Lockstep sum_;
};

}  // namespace

std::unique_ptr<Meter> make_nvml_meter(const std::string& wanted) {
  return std::make_unique<NvmlMeter>(wanted);
}

}  // namespace ampere
