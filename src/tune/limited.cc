#include "tune/limited.h"

#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "model/split.h"

namespace ampere {

Interval stretched(const Interval& i, double factor, double deviation) {
  const auto wider = [&](double bound) {
    const double before = std::log(bound / i.value);
    const double added = kZ95 * deviation;
    return std::copysign(std::sqrt(before * before + added * added), bound < i.value ? -1 : 1);
  };
  Interval out{i.value * factor, i.low * factor, i.high * factor};
  if (!(i.value > 0) || !(i.low > 0)) return out;
  out.low = out.value * std::exp(-std::abs(wider(i.low)));
  out.high = out.value * std::exp(std::abs(wider(i.high)));
  return out;
}

Estimate limited(const Estimate& e, const LeverModel& levers, const PowerSetting& setting,
                 const std::string& network) {
  if (setting.as_it_comes()) return e;
  if (e.regime == Regime::kSingle)
    throw bad_input(
        "what a power limit or a clock does to a CPU is not modelled; try it: ampere run --cpu-clock MHZ -- "
        "COMMAND");
  const double busy_w = e.device_energy_j / e.device_time_s;
  const Stretch s = levers.under(setting, busy_w, network);
  const double host_s = host_behind(e.time_s.value, e.device_time_s);
  const double device_s = e.device_time_s * s.time;
  const double time_s = host_s > 0 ? overlapped(device_s, host_s) : device_s;
  const double device_j = e.device_energy_j * s.energy;
  const double energy_j = device_j + e.idle_power_w * (time_s - device_s);
  const double before_j = e.device_energy_j + e.idle_power_w * (e.time_s.value - e.device_time_s);
  // What waits for the host anyway does not get longer.
  const double of_device = std::min(1.0, device_s / time_s);
  Estimate out = e;
  out.energy_j = stretched(e.energy_j, energy_j / before_j, s.energy_deviation);
  out.time_s = stretched(e.time_s, time_s / e.time_s.value, s.time_deviation * of_device);
  out.device_energy_j = device_j;
  out.device_time_s = device_s;
  out.fixed_energy_j = e.fixed_energy_j + (energy_j - device_j) - (before_j - e.device_energy_j);
  out.regime = device_s >= host_s ? Regime::kDevice : Regime::kHost;
  for (LayerEstimate& layer : out.layers) {
    layer.energy_j = stretched(layer.energy_j, s.energy, s.energy_deviation);
    layer.time_s = stretched(layer.time_s, s.time, s.time_deviation);
  }
  out.power_limit_w = setting.limit_w;
  out.clock_mhz = setting.clock_mhz;
  if (out.gain) out.gain->energy_j = stretched(out.gain->energy_j, energy_j / before_j, s.energy_deviation);
  return out;
}

}  // namespace ampere
