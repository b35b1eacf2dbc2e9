// Progress of long work, and how it is stopped.
#pragma once

#include "bindings.h"

namespace ampere::python {

// What Python gives: something to call with a Step, or None.
using StepCallback = std::optional<nb::typed<nb::callable, nb::object(Step)>>;

// For the library, which calls it without Python's lock. Between two measurements signals are looked at, also
// where `callback` is None, so that Ctrl-C ends long work with KeyboardInterrupt. What the callback raises
// ends it as well. Lives no longer than `callback`.
OnStep on_step_of(const StepCallback& callback);

}  // namespace ampere::python
