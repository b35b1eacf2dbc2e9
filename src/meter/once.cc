#include "meter/once.h"

namespace ampere {
namespace {

// A battery's gauge moves twice a minute: nobody waits for that.
constexpr Seconds kLongestTick{1.0};
constexpr double kMostTicks = 3;

Reading at_next_tick(Meter& meter, Seconds tick) {
  const Reading first = meter.read();
  Reading last = first;
  while (last.energy == first.energy && last.at - first.at < tick * kMostTicks) last = meter.read();
  return last;
}

}  // namespace

MeteredOnce meter_once(Meter& meter, const std::function<void()>& work,
                       const std::optional<MeterCharacter>& character, Watts idle, const Clock& clock) {
  const Seconds tick = character ? character->tick : Seconds(0);
  const bool ticks = tick.value() > 0 && tick <= kLongestTick;
  const Reading before = ticks ? at_next_tick(meter, tick) : meter.read();
  const Seconds start = clock();
  work();
  const Seconds end = clock();
  const Reading after = ticks ? at_next_tick(meter, tick) : meter.read();
  Joules energy = after.energy - before.energy;
  if (ticks && energy.value() > 0) energy -= idle * ((start - before.at) + (after.at - end));
  return {energy, end - start};
}

}  // namespace ampere
