#include "meter/characterise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

constexpr int kMinReads = 8;
constexpr std::size_t kCostsKept = 1000;

// Each edge is known only to within one read, so the spacing comes from the two furthest apart; in between, a
// gap may span several ticks where a read came late.
void find_spacing(const std::vector<double>& edges, MeterCharacter& character) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < edges.size(); ++i) gaps.push_back(edges[i] - edges[i - 1]);
  const double typical = median(gaps);
  if (typical <= 0) return;
  double ticks = 0;
  for (const double gap : gaps) ticks += std::max(1.0, std::round(gap / typical));
  character.ticks = static_cast<int>(ticks);
  character.tick = Seconds((edges.back() - edges.front()) / ticks);
}

// Reads until the counter changes, at most for five ticks; the reading that first shows the new value.
Reading next_change(Meter& meter, Seconds tick, const Clock& clock) {
  const Reading first = meter.read();
  const Seconds start = clock();
  while (true) {
    const Reading reading = meter.read();
    if (reading.energy != first.energy) return reading;
    if (clock() - start > tick * 5) {
      throw Error(ErrorKind::kNoMeter, "meter " + meter.info().name + ": the counter has stopped moving");
    }
  }
}

}  // namespace

MeterCharacter characterise(Meter& meter, const std::function<void()>& keep,
                            const CharacteriseOptions& options) {
  const Seconds start = options.clock();
  std::vector<double> costs;
  std::vector<double> edges;
  double smallest_step = 0;
  Reading last = meter.read();  // not timed: the first read of many meters is slow
  int reads = 1;
  while (static_cast<int>(edges.size()) < options.edges || reads < kMinReads) {
    keep();
    const Seconds before = options.clock();
    const Reading reading = meter.read();
    const Seconds after = options.clock();
    ++reads;
    if (costs.size() < kCostsKept) costs.push_back((after - before).value());
    const double step = (reading.energy - last.energy).value();
    if (step != 0) {
      edges.push_back(((reading.at + last.at) / 2).value());
      smallest_step = smallest_step == 0 ? std::abs(step) : std::min(smallest_step, std::abs(step));
    }
    last = reading;
    if (after - start > options.limit && reads >= kMinReads) break;
  }
  MeterCharacter character;
  character.scope = meter.info().scope;
  character.moves = !edges.empty();
  character.reads = reads;
  character.read_cost = Seconds(median(costs));
  character.resolution = Joules(smallest_step);
  character.continuous = 2 * static_cast<int>(edges.size()) >= reads - 1;
  if (!edges.empty()) character.edge = Seconds(edges.back());
  if (!character.continuous && edges.size() >= 2) find_spacing(edges, character);
  return character;
}

Watts average_power(Meter& meter, const std::function<void(Seconds)>& stay, Seconds length,
                    const MeterCharacter& character, const Clock& clock) {
  const bool ticks = character.tick.value() > 0;
  const auto read = [&] { return ticks ? next_change(meter, character.tick, clock) : meter.read(); };
  const Reading start = read();
  stay(std::max(length, character.tick * 10));
  const Reading end = read();
  if (!(end.energy > start.energy) || !(end.at > start.at)) {
    throw Error(ErrorKind::kNoMeter, "meter " + meter.info().name + ": the counter did not move in " +
                                         std::to_string((end.at - start.at).value()) + " s");
  }
  return (end.energy - start.energy) / (end.at - start.at);
}

}  // namespace ampere
