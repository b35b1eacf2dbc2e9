#include "session/sustained.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

constexpr const char* kThermalFact = "thermal";
constexpr double kSlower = 1.03;  // than at the beginning: slowed down
constexpr double kUnsure = 0.03;  // of energy and time: what one run leaves open
constexpr std::size_t kLeastSamples = 8;
constexpr double kUsualExponent =
    2.5;  // where nothing slowed down: between those of chips that were measured
constexpr double kSampleSeconds = 2;

Interval scaled_and_wider(const Interval& i, double factor) {
  const double wider = std::exp(1.96 * kUnsure);
  return {i.value * factor, i.low * factor / wider, i.high * factor * wider};
}

}  // namespace

Json to_json(const ThermalState& s) {
  return {{"idle_w", s.idle_w},
          {"cold_w", s.cold_w},
          {"warm", s.warm},
          {"sustained_w", s.sustained_w},
          {"slowdown", s.slowdown},
          {"exponent", s.exponent},
          {"time_constant_s", s.time_constant_s},
          {"seconds", s.seconds},
          {"slowed", s.slowed}};
}

ThermalState thermal_state_from_json(const Json& json) {
  const JsonReader r(json, "thermal state");
  return {r.number("idle_w"),          r.number("cold_w"),   r.number("warm"),
          r.number("sustained_w"),     r.number("slowdown"), r.number("exponent"),
          r.number("time_constant_s"), r.number("seconds"),  r.boolean("slowed", false)};
}

ThermalState learn_thermal(const std::vector<WarmSample>& run, double idle_w) {
  if (run.size() < kLeastSamples)
    throw bad_input("the run is too short to tell a cold device from a warm one; let it train longer");
  const auto values = [&](std::size_t from, std::size_t to, double WarmSample::*what) {
    std::vector<double> out;
    for (std::size_t i = from; i < to; ++i) out.push_back(run[i].*what);
    return out;
  };
  ThermalState s;
  s.idle_w = idle_w;
  s.seconds = run.back().until_s;
  const double cold_time = median(values(0, 4, &WarmSample::time_s));
  const double cold_power = median(values(0, 4, &WarmSample::power_w));
  // Two in a row: one alone may be a hiccup.
  std::size_t slow = run.size();
  for (std::size_t i = 4; i + 1 < run.size() && slow == run.size(); ++i) {
    if (run[i].time_s > kSlower * cold_time && run[i + 1].time_s > kSlower * cold_time) slow = i;
  }
  s.slowed = slow < run.size();
  s.cold_w = cold_power;
  const std::size_t just_before = std::max<std::size_t>(slow, 3) - 3;
  s.warm = median(values(just_before, just_before + 3, &WarmSample::power_w)) / cold_power;
  // From iteration to iteration the clock goes up and down: energy over time, not the median.
  const std::size_t end_from = s.slowed ? slow + (run.size() - slow) / 2 : run.size() - run.size() / 4;
  double seconds = 0, joules = 0, iterations = 0;
  for (std::size_t i = end_from; i < run.size(); ++i) {
    const double length = run[i].until_s - run[i - 1].until_s;
    seconds += length;
    joules += run[i].power_w * length;
    iterations += length / run[i].time_s;
  }
  s.sustained_w = joules / seconds;
  s.slowdown = s.slowed ? seconds / iterations / cold_time : 1;
  s.exponent = kUsualExponent;
  if (!s.slowed) return s;
  const double hotter = s.cold_w * s.warm;
  if (s.sustained_w > idle_w && hotter > s.sustained_w && s.slowdown > 1)
    s.exponent =
        std::clamp(std::log((hotter - idle_w) / (s.sustained_w - idle_w)) / std::log(s.slowdown), 0.5, 6.0);
  const double share = std::min(0.999, s.sustained_w / hotter);
  s.time_constant_s = run[slow].until_s / -std::log(1 - share);
  return s;
}

std::vector<WarmSample> run_long(const Measure& measure, MeasureRequest request, double seconds,
                                 const std::function<void(double)>& progress) {
  request.warm_up_s = 0;
  request.discard_first = false;
  request.min_windows = 1;
  request.window_s = kSampleSeconds;
  request.budget_s = kSampleSeconds;
  std::vector<WarmSample> run;
  double until = 0;
  while (until < seconds) {
    const Measurement m = measure(request);
    if (!m.energy_j)
      throw Error(ErrorKind::kNoMeter, "the worker told no energy, and a long run is about that");
    const double length = static_cast<double>(std::max<std::int64_t>(1, m.iterations)) * m.time_s;
    until += length;
    run.push_back({until, m.time_s, *m.energy_j / m.time_s});
    if (progress) progress(until);
  }
  return run;
}

void put_thermal(Store& store, const std::string& device, const ThermalState& state) {
  store.put_fact(device, "", kThermalFact, to_json(state));
}

std::optional<ThermalState> stored_thermal(const Store& store, const std::string& device) {
  const auto fact = store.fact(device, "", kThermalFact);
  return fact ? std::optional(thermal_state_from_json(*fact)) : std::nullopt;
}

SustainedCost sustained_cost(const ThermalState& s, double energy_j, double time_s) {
  const double cold_w = energy_j / time_s;
  // The warmer, the more it leaks, and what draws as much as can be sustained gets as warm as the run was
  // when it was slowed down, whatever that one drew. What draws less stays cooler in proportion, and this is
  // what it then draws: warm_w = cold_w (1 + (warm - 1) warm_w / sustained_w).
  const double leak = s.sustained_w > 0 ? (s.warm - 1) * cold_w / s.sustained_w : 0;
  const double most_w = cold_w * s.warm;
  const double warm_w = leak < 1 && cold_w / (1 - leak) < s.sustained_w ? cold_w / (1 - leak) : most_w;
  SustainedCost c;
  c.power_w = warm_w;
  c.energy = warm_w / cold_w;
  if (!s.slowed || warm_w <= s.sustained_w) return c;
  c.time = std::pow((warm_w - s.idle_w) / std::max(1e-6, s.sustained_w - s.idle_w), 1 / s.exponent);
  c.power_w = s.sustained_w;
  c.energy = s.sustained_w * c.time / cold_w;
  c.seconds_until_slow = -s.time_constant_s * std::log(1 - s.sustained_w / warm_w);
  return c;
}

SustainedCost job_cost_of(const ThermalState& s, double energy_j, double time_s, double cold_seconds) {
  SustainedCost c = sustained_cost(s, energy_j, time_s);
  if (c.seconds_until_slow <= 0) return c;
  const double cold = std::min(1.0, c.seconds_until_slow / cold_seconds);  // share of the iterations
  c.energy = cold + (1 - cold) * c.energy;
  c.time = cold + (1 - cold) * c.time;
  return c;
}

Estimate sustained(Estimate e, const SustainedCost& cost) {
  e.energy_j = scaled_and_wider(e.energy_j, cost.energy);
  e.time_s = scaled_and_wider(e.time_s, cost.time);
  for (LayerEstimate& layer : e.layers) {
    layer.energy_j = scaled_and_wider(layer.energy_j, cost.energy);
    layer.time_s = scaled_and_wider(layer.time_s, cost.time);
  }
  e.fixed_energy_j *= cost.energy;
  e.fixed_time_s *= cost.time;
  e.device_energy_j *= cost.energy;
  e.device_time_s *= cost.time;
  return e;
}

}  // namespace ampere
