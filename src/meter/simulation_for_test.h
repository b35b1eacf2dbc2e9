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
  // How far apart the samples of power are that the device keeps, each the mean since the one before.
  Seconds sample_every{0};
  double record_says = 1;  // times what was really drawn
  std::vector<PowerSample> record;

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
    while (sample_every.value() > 0 && last_sample_ + sample_every <= to) {
      const Seconds at = last_sample_ + sample_every;
      const Joules drawn = used + power * (at - time) - used_at_sample_;
      record.push_back({at, drawn / sample_every * record_says});
      last_sample_ = at;
      used_at_sample_ += drawn;
    }
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
    ScriptedMeter meter([this] { return read(); });
    meter.set_samples([this] { return record; });
    return meter;
  }
  Clock clock() {
    return [this] { return time; };
  }
  Joules per_iteration() const { return busy * iteration; }

 private:
  Seconds last_sample_{100};
  Joules used_at_sample_{1000};
};

}  // namespace ampere
