// A device that exists only in a test: time passes when it works or is read, never by itself.
#pragma once

#include <cmath>
#include <cstdint>

#include "meter/scripted_meter.h"
#include "meter/window.h"

namespace ampere {

struct Simulation {
  Seconds time{100};
  Joules used{1000};
  Joules shown{1000};  // what the counter says: `used` as of the last tick
  Watts busy{300};
  Watts idle{120};
  Seconds iteration{0.003};
  Seconds tick{0};  // 0: the counter follows at once
  Seconds jitter{0};
  int next_tick = 1;
  Seconds read_cost{1e-6};  // the device idles meanwhile
  double iterations = 0;
  int reads = 0;

  // Lets `length` pass at a power, ticks included.
  void pass(Seconds length, Watts power) {
    const Seconds end = time + length;
    while (tick.value() > 0 && edge(next_tick) <= end) {
      if (edge(next_tick) > time) advance(edge(next_tick), power);
      shown = used;
      ++next_tick;
    }
    advance(end, power);
    if (tick.value() == 0) shown = used;
  }
  // Ticks fall up to `jitter` early or late.
  Seconds edge(int number) const { return Seconds(100) + tick * number + jitter * std::sin(number * 7.0); }
  void advance(Seconds to, Watts power) {
    used += power * (to - time);
    time = to;
  }
  Work work() {
    return [this](std::int64_t count) {
      iterations += static_cast<double>(count);
      pass(iteration * static_cast<double>(count), busy);
    };
  }
  // The counter is sampled half-way through the read.
  Reading read() {
    ++reads;
    pass(read_cost / 2, idle);
    const Reading reading{shown, time};
    pass(read_cost / 2, idle);
    return reading;
  }
  ScriptedMeter meter() {
    return ScriptedMeter([this] { return read(); });
  }
  Clock clock() {
    return [this] { return time; };
  }
  Joules per_iteration() const { return busy * iteration; }
};

}  // namespace ampere
