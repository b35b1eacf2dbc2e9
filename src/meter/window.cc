#include "meter/window.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "meter/characterise.h"
#include "meter/sampled_window.h"
#include "meter/ticks.h"
#include "meter/warm_up.h"

namespace ampere {
namespace {

constexpr double kTickThatMatters = 0.01;  // of a window: shorter ticks are not worth aligning to
constexpr double kReadsPerWindow = 150;
constexpr double kMost = 1e15;  // iterations of a window
constexpr Seconds kClockKnown{0.0005};

void check(const WindowOptions& options) {
  const bool sane = options.window.value() > 0 && options.warm_up.value() >= 0 && options.min_windows >= 1 &&
                    options.max_windows >= options.min_windows && options.min_ticks >= 1 &&
                    options.target_error > 0;
  if (!sane)
    throw bad_input("windows: lengths, counts and the target error must be positive, and max >= min");
}

// Windows of work, one after the other; how they are cut depends on the counter.
class WindowSource {
 public:
  WindowSource(Meter& meter, const Work& work, const WindowOptions& options, Seconds pace)
      : meter_(meter), work_(work), options_(options), pace_(pace), length_(options.window) {
    const MeterCharacter character = character_of();
    tick_ = character.tick;
    if (tick_ < options.window * kTickThatMatters) return;
    length_ = std::max(options.window, tick_ * options.min_ticks);
    // One read falls inside a window at most: this keeps it well under a hundredth of it.
    if (options.min_ticks >= kTicksPerWindow)
      length_ = std::max(length_, character.read_cost * kReadsPerWindow);
    length_ = tick_ * std::ceil(length_ / tick_ - 1e-9);
    follower_.emplace(meter_, work_, options_.clock, character, pace_);
  }

  Window next() {
    if (options_.gap.value() > 0) work_(fitting(options_.gap));
    const std::optional<Watts> before = meter_.power();
    Window window = follower_ ? aligned() : plain();
    const std::optional<Watts> after = meter_.power();
    if (before && after && window.energy.value() > 0) {
      const Joules integrated = (*before + *after) / 2 * (window.time + window.reading);
      const Joules counted = window.energy + options_.idle * window.reading;
      window.discrepancy = integrated / counted - 1;
    }
    return window;
  }

  // Of a single window, which no other can tell: how well its two edges are known.
  double error_of(const Window& window) const {
    return 2 * std::max(kEdgeKnownInTicks * tick_, kClockKnown) / window.time;
  }

  Seconds tick() const { return tick_; }
  void set_pace(Seconds pace) { pace_ = std::max(pace, kShortestIteration); }

 private:
  MeterCharacter character_of() {
    const std::optional<MeterCharacter>& known = options_.character;
    if (known && known->tick.value() == 0) return *known;
    CharacteriseOptions how;
    how.clock = options_.clock;
    // A battery's gauge moves twice a minute: who allows hours waits minutes for it.
    how.limit = std::max(how.limit, options_.budget / 10);
    if (known) {
      how.edges = 1;
      how.limit = std::max(how.limit, known->tick * 2);
    }
    // Ticks shorter than an iteration cannot be seen between iterations: watch with the device at rest.
    const bool quick = pace_ < Seconds(0.005);
    const auto keep = [&] {
      if (quick) work_(1);
    };
    MeterCharacter found = characterise(meter_, keep, how);
    if (!known) return found;
    MeterCharacter character = *known;
    character.edge = found.edge;
    return character;
  }

  std::int64_t fitting(Seconds length) const {
    return std::max<std::int64_t>(1, std::llround(std::min(length / pace_, kMost)));
  }

  Window plain() {
    const std::int64_t iterations = fitting(length_);
    const Reading start = meter_.read();
    work_(iterations);
    const Reading end = meter_.read();
    return {end.energy - start.energy, end.at - start.at, static_cast<double>(iterations), Seconds(0), {}};
  }

  Window aligned() {
    // Both ends are read half a tick late, so that parts of a sum that lag behind or run ahead do so alike.
    const Edge start = follower_->tick_near(follower_->find_tick().at + tick_);
    const Edge end = follower_->tick_near(start.at + length_);
    tick_ = follower_->tick();
    const Seconds reading = end.reading - start.reading;
    return {end.energy - start.energy - options_.idle * reading,
            end.at - start.at - reading,
            end.iterations - start.iterations,
            reading,
            {}};
  }

  Meter& meter_;
  const Work& work_;
  const WindowOptions& options_;
  Seconds pace_;
  Seconds length_;
  Seconds tick_;
  std::optional<TickFollower> follower_;
};

void refuse_backwards(const Meter& meter, const Window& window) {
  if (window.energy.value() < 0 || window.time.value() <= 0 || !std::isfinite(window.energy.value())) {
    throw Error(ErrorKind::kNoMeter,
                "meter " + meter.info().name +
                    ": the counter ran backwards during a window; was it reset by another "
                    "program or by a driver restart? Measure again");
  }
}

void refuse_standstill(const Meter& meter, const WindowSummary& summary) {
  if (summary.energy.value() > 0) return;
  throw Error(ErrorKind::kNoMeter,
              "meter " + meter.info().name + ": the counter stood still while work was running (" +
                  std::to_string(summary.windows.size()) +
                  " windows); zero is not a measurement. Choose another meter (ampere detect lists them) or "
                  "longer windows");
}

// How much the metering itself took, and how far the meter's two sensors disagree.
void describe_metering(WindowSummary& summary) {
  Seconds reading;
  Seconds all;
  std::vector<double> discrepancies;
  for (const Window& window : summary.windows) {
    reading += window.reading;
    all += window.time + window.reading;
    if (window.discrepancy) discrepancies.push_back(*window.discrepancy);
  }
  summary.overhead = reading / all;
  if (!discrepancies.empty()) summary.discrepancy = median(discrepancies);
}

double drift_of(const std::vector<double>& times) {
  const std::size_t third = times.size() / 3;
  if (third < 2) return 0;
  const auto count = static_cast<std::ptrdiff_t>(third);
  return median({times.end() - count, times.end()}) / median({times.begin(), times.begin() + count}) - 1;
}

}  // namespace

WindowSummary measure_windows(Meter& meter, const Work& work, const WindowOptions& options) {
  check(options);
  if (samples_tell_more(meter, options)) {
    if (auto sampled = measure_samples(meter, work, options)) return *sampled;
  }
  const Clock& clock = options.clock;
  const Seconds start = clock();
  WindowSource source(meter, work, options, warm_up(work, clock, options.warm_up));
  WindowSummary summary;
  summary.before = meter.state();
  if (options.discard_first) refuse_backwards(meter, source.next());
  std::vector<double> energies;
  std::vector<double> times;
  while (true) {
    const Window window = source.next();
    refuse_backwards(meter, window);
    energies.push_back(window.energy.value() / window.iterations);
    times.push_back(window.time.value() / window.iterations);
    source.set_pace(Seconds(median(times)));
    summary.windows.push_back(window);

    const int count = static_cast<int>(summary.windows.size());
    summary.energy_error = count > 1 ? relative_error_of_median(energies) : source.error_of(window);
    summary.time_error = count > 1 ? relative_error_of_median(times) : source.error_of(window);
    if (count < options.min_windows) continue;
    summary.stable = summary.energy_error <= options.target_error;
    if (summary.stable)
      summary.ended = "settled";
    else if (count >= options.max_windows)
      summary.ended = "max windows";
    else if (clock() - start >= options.budget)
      summary.ended = "budget";
    if (!summary.ended.empty()) break;
  }
  summary.after = meter.state();
  summary.tick = source.tick();
  describe_metering(summary);
  summary.energy = Joules(median(energies));
  summary.time = Seconds(median(times));
  summary.outliers = count_outliers(energies);
  summary.drift = drift_of(times);
  refuse_standstill(meter, summary);
  return summary;
}

}  // namespace ampere
