// Energy from a sensor that only knows power: samples added up as trapezoids.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "meter/meter.h"
#include "meter/repeater.h"

namespace ampere {

class PowerIntegrator {
 public:
  // `sample` gives the power now, or throws Error{kNoMeter}. It is called every `period` from a thread, and
  // at each read; with a period of 0 there is no thread (tests, where time stands still).
  PowerIntegrator(std::function<Watts()> sample, Seconds period, Clock clock);

  // Energy since construction. Throws what `sample` threw, also when that was between reads.
  Reading read();

 private:
  void take_sample();

  std::function<Watts()> sample_;
  Clock clock_;
  std::mutex mutex_;
  std::exception_ptr failed_;
  Watts power_;
  Reading total_;
  std::unique_ptr<Repeater> repeater_;  // last, so that its thread ends first
};

}  // namespace ampere
