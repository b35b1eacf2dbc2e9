// Points that were measured while a device was slowed down by its own heat: noticed, waited out or marked.
#pragma once

#include <functional>

#include "measure/measure.h"
#include "measure/measurement.h"

namespace ampere {

// By what the device says of itself, or, where it says nothing, by how iterations grew longer from window to
// window.
bool slowed_by_heat(const Measurement& m);

struct CoolingOptions {
  double first_wait_s = 30;  // doubled with each further one
  int waits = 4;
};
// Lets the device rest for so many seconds.
using Rest = std::function<void(double seconds)>;

// Measures again after a rest where the device says that it was slowed down, and marks what stays so
// (Measurement::throttled). A device that says nothing of itself is not waited for: its points are marked.
Measure when_cool(Measure measure, Rest rest, CoolingOptions options = {});

}  // namespace ampere
