#include "meter/ticks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

constexpr double kJitter = 0.03;  // of a tick: how far from the expected moment ticks were seen to fall
constexpr int kMostMissed = 6;    // ticks without a change before the counter counts as stuck

}  // namespace

TickFollower::TickFollower(Meter& meter, const Work& work, const Clock& clock,
                           const MeterCharacter& character, Seconds pace)
    : meter_(meter),
      work_(work),
      clock_(clock),
      tick_(character.tick),
      read_cost_(character.read_cost),
      pace_(std::max(pace, Seconds(1e-9))),
      last_edge_(character.edge.value_or(clock())),
      baseline_(std::max(1, character.ticks)) {
  first_edge_ = last_edge_ - tick_ * baseline_;
  knots_.push_back({clock_(), 0, Seconds(0)});
}

void TickFollower::run(std::int64_t iterations) {
  const Knot last = knots_.back();
  const Seconds start = clock_();
  work_(iterations);
  const Seconds end = clock_();
  knots_.push_back({start, last.iterations, last.reading});
  knots_.push_back({end, last.iterations + static_cast<double>(iterations), last.reading});
  // Follow a changing pace, but not one odd chunk.
  const Seconds each = (end - start) / static_cast<double>(iterations);
  pace_ = std::clamp(each, pace_ * 0.5, pace_ * 2);
}

Reading TickFollower::read() {
  const Knot last = knots_.back();
  const Seconds start = clock_();
  const Reading reading = meter_.read();
  const Seconds end = clock_();
  knots_.push_back({start, last.iterations, last.reading});
  knots_.push_back({end, last.iterations, last.reading + (end - start)});
  if (reading.energy < highest_) {
    throw Error(ErrorKind::kNoMeter,
                "meter " + meter_.info().name +
                    ": the counter ran backwards; was it reset by another program or by a "
                    "driver restart? Measure again");
  }
  highest_ = reading.energy;
  return reading;
}

void TickFollower::work_until(Seconds end) {
  // Two calls or three: the first is nearly all of it, the next corrects for a pace that was guessed wrong.
  while (true) {
    const auto fitting = static_cast<std::int64_t>((end - clock_()) / pace_);
    if (fitting < 1) return;
    run(fitting);
  }
}

// In the zone where a tick is looked for, pieces of work are about as long as a read.
std::int64_t TickFollower::piece() const {
  return std::max<std::int64_t>(1, std::llround(std::max(read_cost_, tick_ * 0.01) / pace_));
}

Seconds TickFollower::between_reads() const { return read_cost_ + pace_ * static_cast<double>(piece()); }

// How far a tick may be from where it is expected, `ahead` of the last one seen: edges are known to half the
// time between reads, so the length of a tick is known to that over its baseline.
Seconds TickFollower::uncertainty(Seconds ahead) const {
  return tick_ * kJitter + between_reads() / 2 * (ahead / tick_ / baseline_);
}

Edge TickFollower::find_tick() {
  forget_before(last_edge_);
  Seconds expected = last_edge_ + tick_;
  Seconds guard = std::max(between_reads(), uncertainty(clock_() - last_edge_));
  for (int missed = 0; missed < kMostMissed; ++missed) {
    while (expected - guard * 0.5 < clock_()) expected += tick_;  // too late to be before it
    work_until(expected - guard);
    Reading before = read();
    do {
      run(piece());
      const Reading after = read();
      if (after.energy != before.energy) return edge_between(before, after, expected);
      before = after;
    } while (before.at < expected + guard);
    expected += tick_;
    guard = std::min(guard * 2, std::max(guard, tick_ / 2));  // it is not where it was expected: look wider
  }
  stopped();
}

Edge TickFollower::tick_near(Seconds moment) {
  const Seconds expected = last_edge_ + tick_ * std::max(1.0, std::round((moment - last_edge_) / tick_));
  const Seconds margin = std::min(uncertainty(expected - last_edge_), tick_ * 0.4);
  const Joules opened = highest_;
  work_until(expected + tick_ / 2);
  // Iterations as long as a whole number of ticks may never leave the neighbourhood of one: give up looking
  // then.
  for (int extra = 0; extra < kMostMissed;) {
    const Seconds since = clock_() + read_cost_ / 2 - expected;
    const Seconds phase = since - tick_ * std::floor(since / tick_);
    if (since >= margin && phase >= margin && phase <= tick_ - margin) break;
    run(1);
    if (since >= margin) ++extra;
  }
  const Reading reading = read();
  if (reading.energy == opened) stopped();
  return edge_at(expected + tick_ * std::floor((reading.at - expected) / tick_), reading.energy);
}

void TickFollower::stopped() const {
  throw Error(ErrorKind::kNoMeter, "meter " + meter_.info().name +
                                       ": the counter stopped moving while work was running; zero is not a "
                                       "measurement");
}

Edge TickFollower::edge_between(const Reading& before, const Reading& after, Seconds expected) {
  // A piece of work longer than a tick hides all ticks but the last.
  const Seconds low = std::max(before.at, after.at - tick_);
  // Both are right: the tick lies between the reads, and ticks come evenly.
  const Seconds even = expected + tick_ * std::round(((low + after.at) / 2 - expected) / tick_);
  const Seconds at = std::clamp(even, low, std::max(low, after.at));
  learn(at);
  return edge_at(at, after.energy);
}

Edge TickFollower::edge_at(Seconds moment, Joules energy) const {
  Edge edge{moment, energy, knots_.back().iterations, knots_.back().reading};
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& left = knots_[i - 1];
    const Knot& right = knots_[i];
    if (right.at < moment) continue;
    const Seconds length = right.at - left.at;
    const double share = length.value() > 0 ? (moment - left.at) / length : 1;
    edge.iterations = left.iterations + share * (right.iterations - left.iterations);
    edge.reading = left.reading + share * (right.reading - left.reading);
    break;
  }
  return edge;
}

// The longer the baseline, the better the tick is known.
void TickFollower::learn(Seconds edge) {
  last_edge_ = edge;
  const double ticks = std::round((edge - first_edge_) / tick_);
  if (ticks <= baseline_) return;
  const Seconds better = (edge - first_edge_) / ticks;
  if (std::abs(better / tick_ - 1) > kJitter) return;
  tick_ = better;
  baseline_ = ticks;
}

void TickFollower::forget_before(Seconds moment) {
  std::size_t keep = 0;
  while (keep + 2 < knots_.size() && knots_[keep + 1].at < moment) ++keep;
  knots_.erase(knots_.begin(), knots_.begin() + static_cast<std::ptrdiff_t>(keep));
}

}  // namespace ampere
