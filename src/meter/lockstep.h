// Adding counters that do not tick together.
#pragma once

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace ampere {

// The sum of several counters, renewed only once all of them have moved. So the sum ticks like the slowest of
// them, and each counter's lag behind that tick is the same at both ends of a window: it cancels.
class Lockstep {
 public:
  Joules add_up(const std::vector<Joules>& values) {
    const bool all_moved = std::equal(values.begin(), values.end(), last_.begin(), last_.end(),
                                      [](Joules now, Joules before) { return now != before; });
    if (last_.size() != values.size() || all_moved) {
      last_ = values;
      sum_ = Joules(0);
      for (const Joules value : values) sum_ += value;
    }
    return sum_;
  }

 private:
  std::vector<Joules> last_;
  Joules sum_;
};

}  // namespace ampere
