// A hardware counter that starts again from zero when it is full.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace ampere {

class WrappingCounter {
 public:
  // Wraps after `range` microjoules; `what` names it in errors.
  WrappingCounter(std::uint64_t range_uj, std::string what) : range_uj_(range_uj), what_(std::move(what)) {}

  // Takes in what the counter says now. A value lower than before is a wrap, unless that would mean an
  // impossible power: then the counter was reset, and Error{kNoMeter} is thrown.
  void update(std::uint64_t value_uj, Seconds at) {
    if (started_) {
      const std::uint64_t grown =
          value_uj >= last_uj_ ? value_uj - last_uj_ : value_uj + (range_uj_ - last_uj_);
      const Joules step(1e-6 * static_cast<double>(grown));
      const bool wrapped = value_uj < last_uj_;
      if (wrapped && (last_uj_ > range_uj_ || step > kMostPower * (at - last_at_ + kSlack))) {
        throw Error(ErrorKind::kNoMeter, what_ +
                                             ": the counter went backwards without wrapping (suspend, driver "
                                             "reload or a reset); measure again");
      }
      total_ += step;
    }
    started_ = true;
    last_uj_ = value_uj;
    last_at_ = at;
  }

  Joules total() const { return total_; }

 private:
  static constexpr Watts kMostPower{5000};  // of one socket
  static constexpr Seconds kSlack{0.1};

  std::uint64_t range_uj_;
  std::string what_;
  bool started_ = false;
  std::uint64_t last_uj_ = 0;
  Seconds last_at_;
  Joules total_;
};

}  // namespace ampere
