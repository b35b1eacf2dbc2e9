#include "meter/ticks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

constexpr double kJitter = 0.03;  // of a tick: how far from the expected moment ticks were seen to fall
constexpr int kPatience = 6;      // ticks without a change before the counter counts as stuck

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

Edge TickFollower::edge_after(Seconds earliest) {
  forget_before(last_edge_);
  const Seconds piece = std::max(read_cost_, tick_ * 0.01);
  const auto chunk = std::max<std::int64_t>(1, std::llround(piece / pace_));
  const Seconds between_reads = read_cost_ + pace_ * static_cast<double>(chunk);
  Seconds expected = last_edge_ + tick_ * std::ceil((earliest - last_edge_) / tick_ - 0.5);
  // Edges are known to half the time between reads, so the tick is to that over its baseline.
  const Seconds drift = between_reads / 2 * ((expected - last_edge_) / tick_ / baseline_);
  // The guard holds one read before the tick even when the piece of work just before it runs long.
  Seconds guard = std::max(tick_ * kJitter, between_reads) + drift;
  for (int missed = 0; missed < kPatience; ++missed) {
    while (expected - guard * 0.5 < clock_()) expected += tick_;  // too late to be before it
    work_until(expected - guard);
    Reading before = read();
    do {
      run(chunk);
      const Reading after = read();
      if (after.energy != before.energy) return edge_between(before, after, expected);
      before = after;
    } while (before.at < expected + guard);
    expected += tick_;
    guard = std::min(guard * 2, std::max(guard, tick_ / 2));  // it is not where it was expected: look wider
  }
  throw Error(ErrorKind::kNoMeter, "meter " + meter_.info().name + ": the counter stopped moving for " +
                                       std::to_string((tick_ * kPatience).value()) +
                                       " s while work was running; zero is not a measurement");
}

Edge TickFollower::edge_between(const Reading& before, const Reading& after, Seconds expected) {
  // A piece of work longer than a tick hides all ticks but the last.
  const Seconds low = std::max(before.at, after.at - tick_);
  // Both are right: the tick lies between the reads, and ticks come evenly.
  const Seconds even = expected + tick_ * std::round(((low + after.at) / 2 - expected) / tick_);
  Edge edge{std::clamp(even, low, std::max(low, after.at)), after.energy, 0, Seconds(0)};
  learn(edge.at);
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& left = knots_[i - 1];
    const Knot& right = knots_[i];
    if (right.at < edge.at) continue;
    const Seconds length = right.at - left.at;
    const double share = length.value() > 0 ? (edge.at - left.at) / length : 1;
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
