#include "meter/power_integrator.h"

#include <utility>

namespace ampere {

PowerIntegrator::PowerIntegrator(std::function<Watts()> sample, Seconds period, Clock clock)
    : sample_(std::move(sample)), clock_(std::move(clock)) {
  power_ = sample_();
  total_.at = clock_();
  if (period.value() <= 0) return;
  repeater_ = std::make_unique<Repeater>(period, [this] {
    const std::lock_guard lock(mutex_);
    try {
      if (!failed_) take_sample();
    } catch (...) {
      failed_ = std::current_exception();
    }
  });
}

void PowerIntegrator::take_sample() {
  const Watts power = sample_();
  const Seconds at = clock_();
  total_.energy += (power_ + power) / 2 * (at - total_.at);
  total_.at = at;
  power_ = power;
}

Reading PowerIntegrator::read() {
  const std::lock_guard lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
  take_sample();
  return total_;
}

}  // namespace ampere
