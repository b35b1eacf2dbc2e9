#include "meter/sampled_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.h"
#include "meter/warm_up.h"

namespace ampere {
namespace {

constexpr std::size_t kLeastKept = 11;
constexpr Seconds kFurthestApart{0.04};
constexpr Seconds kStale{0.5};
constexpr Seconds kRamp{0.1};       // power follows a change of work within that
constexpr Seconds kAveraged{0.03};  // a sample is a mean of what was drawn before it
constexpr Seconds kShortestWindow{0.15};
constexpr double kSamplesPerWindow = 5;
constexpr std::size_t kLeastSamples = 3;
constexpr Seconds kLongestIteration{1};  // devices keep two seconds
constexpr double kPieces = 5;            // of a window, each timed
constexpr double kSteady = 0.02;
constexpr double kTimeKnown = 1e-5;  // seconds
constexpr double kMostInPiece = 1e15;
// How much more or less than the samples allow the counter may show before they cannot both be right.
constexpr double kContradiction = 0.2;

double mean(const double* begin, const double* end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

struct SampledWindow {
  std::vector<double> times;   // of an iteration, one for each piece
  std::vector<double> powers;  // W
  Seconds length;
  double iterations = 0;

  double power() const { return mean(powers.data(), powers.data() + powers.size()); }
};

std::vector<double> powers_between(const std::vector<PowerSample>& kept, Seconds begin, Seconds end) {
  std::vector<double> powers;
  for (const PowerSample& sample : kept) {
    if (sample.at > begin && sample.at <= end) powers.push_back(sample.power.value());
  }
  return powers;
}

SampledWindow work_for(Seconds length, Meter& meter, const Work& work, const Clock& clock, Seconds pace) {
  SampledWindow window;
  const auto piece = std::max<std::int64_t>(1, std::llround(std::min(length / kPieces / pace, kMostInPiece)));
  const Seconds begin = clock();
  Seconds last = begin;
  do {  // once at least: an iteration may be longer than the window
    work(piece);
    const Seconds end = clock();
    window.times.push_back(((end - last) / static_cast<double>(piece)).value());
    window.iterations += static_cast<double>(piece);
    last = end;
  } while (last - begin < length - pace / 2);
  window.length = last - begin;
  window.powers = powers_between(meter.samples(), begin + kAveraged, last);
  return window;
}

// How far the second half of a window draws another power than the first.
double drift(const SampledWindow& window) {
  const double* begin = window.powers.data();
  const double* middle = begin + window.powers.size() / 2;
  const double* end = begin + window.powers.size();
  return std::abs(mean(middle, end) - mean(begin, middle)) / window.power();
}

// What was drawn, where each sample tells the power since the one before it and the last also what came
// after.
Joules drawn(const std::vector<PowerSample>& kept, Seconds begin, Seconds end) {
  Joules sum;
  Seconds from = begin;
  for (const PowerSample& sample : kept) {
    const Seconds to = &sample == &kept.back() ? end : std::min(sample.at, end);
    if (to <= from) continue;
    sum += sample.power * (to - from);
    from = to;
  }
  return sum;
}

// What the counter shows was used between two of its ticks, each up to a tick before it was read. That leaves
// much open in so short a time, but shows a record of something else.
bool contradict(const std::vector<PowerSample>& kept, const Reading& before, const Reading& after,
                Seconds tick) {
  const Joules shown = after.energy - before.energy;
  return shown < drawn(kept, before.at, after.at - tick) * (1 - kContradiction) ||
         shown > drawn(kept, before.at - tick, after.at) * (1 + kContradiction);
}

WindowSummary summary_of(const SampledWindow& window, bool steady, const WindowOptions& options) {
  WindowSummary summary;
  summary.sampled = true;
  summary.energy = Watts(window.power()) * (window.length / window.iterations);
  summary.time = Seconds(median(window.times));
  summary.energy_error = std::max(kSampledError, drift(window) / 2);
  summary.time_error =
      window.times.size() > 1 ? relative_error_of_median(window.times) : kTimeKnown / window.length.value();
  summary.stable = steady && summary.energy_error <= options.target_error;
  summary.ended = steady ? "settled" : "budget";
  summary.tick = options.character->tick;
  summary.windows = {
      {Watts(window.power()) * window.length, window.length, window.iterations, Seconds(0), {}}};
  return summary;
}

}  // namespace

std::optional<Seconds> sample_spacing(Meter& meter, const Clock& clock) {
  const std::vector<PowerSample> kept = meter.samples();
  if (kept.size() < kLeastKept || clock() - kept.back().at > kStale) return std::nullopt;
  const Seconds spacing =
      (kept.back().at - kept[kept.size() - kLeastKept].at) / static_cast<double>(kLeastKept - 1);
  if (!(spacing.value() > 0) || spacing > kFurthestApart) return std::nullopt;
  return spacing;
}

bool samples_tell_more(Meter& meter, const WindowOptions& options) {
  const bool ticks = options.character && options.character->tick.value() > 0;
  return ticks && 2 * kEdgeKnownInTicks / options.min_ticks > kSampledError &&
         sample_spacing(meter, options.clock).has_value();
}

std::optional<WindowSummary> measure_samples(Meter& meter, const Work& work, const WindowOptions& options) {
  const std::optional<Seconds> spacing = sample_spacing(meter, options.clock);
  if (!spacing) return std::nullopt;
  const Clock& clock = options.clock;
  const Seconds start = clock();
  const DeviceState before = meter.state();
  const Reading first = meter.read();
  Seconds pace = warm_up(work, clock, std::max(options.warm_up, kRamp));
  if (pace > kLongestIteration) return std::nullopt;
  const Seconds length = std::max(kShortestWindow, kAveraged + *spacing * kSamplesPerWindow);
  std::optional<double> power_before;
  while (true) {
    const SampledWindow window = work_for(length, meter, work, clock, pace);
    const Seconds taken = clock() - start;
    if (window.powers.size() < kLeastSamples) {
      if (taken > options.budget) return std::nullopt;
      continue;  // they may come late, and iterations may be over before one does
    }
    const double power = window.power();
    if (!(power > 0) || !std::isfinite(power)) return std::nullopt;
    pace = std::max(Seconds(median(window.times)), kShortestIteration);
    const bool steady =
        drift(window) < kSteady || (power_before && std::abs(power - *power_before) / power < kSteady);
    power_before = power;
    if (!steady && taken + length <= options.budget) continue;
    if (contradict(meter.samples(), first, meter.read(), options.character->tick)) return std::nullopt;
    WindowSummary summary = summary_of(window, steady, options);
    summary.before = before;
    summary.after = meter.state();
    return summary;
  }
}

}  // namespace ampere
