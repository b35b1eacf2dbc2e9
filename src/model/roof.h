// What a device can do at best: the roof that calls stay under.
#pragma once

#include <array>
#include <vector>

#include "work/op_work.h"

namespace ampere {

struct Roof {
  std::array<double, kArithmetics> flops_per_s{};
  double bytes_per_s = 0;
  double launch_s = 0;

  double seconds(const OpWork& work) const;
};

// What is believed before anything was measured: of an accelerator, or of a processor.
Roof believed_roof(bool accelerator);

// Work that was timed.
struct TimedWork {
  std::vector<CountedWork> works;
  double time_s = 0;
};
// How far devices of a sort are from what is believed of them, and from their data sheets: standard
// deviations of logarithms.
inline constexpr double kAnyDevice = 2;
inline constexpr double kOfSheet = 0.5;
// The roof that tells these times best, near what is believed; the process tells what it misses.
Roof fitted_roof(const Roof& believed, const std::vector<TimedWork>& seen, double belief = kAnyDevice);

}  // namespace ampere
