// Energy that has been used stays used: a counter that falls has been reset.
#pragma once

#include <string>

#include "base/error.h"
#include "base/units.h"

namespace ampere {

class OnlyForward {
 public:
  // Gives `energy` back; throws Error{kNoMeter} when it is lower than the one before.
  Joules pass(Joules energy, const std::string& what) {
    if (energy < last_) {
      throw Error(ErrorKind::kNoMeter,
                  what +
                      ": the counter ran backwards; was it reset by another program or by a "
                      "driver restart? Measure again");
    }
    return last_ = energy;
  }

 private:
  Joules last_{-1e300};
};

}  // namespace ampere
