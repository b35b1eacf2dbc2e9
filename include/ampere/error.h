// The one exception that the library throws. What can be foreseen and is no failure (a point limit, a job
// that is refused, a target that was not reached) is told by results instead.
#pragma once

#include <stdexcept>
#include <string>

namespace ampere {

// Why something failed.
enum class ErrorKind {
  kFailed,         // anything without a kind of its own
  kBadInput,       // wrong usage, malformed file, impossible shape
  kNoMeter,        // no energy meter can be used here
  kOverBudget,     // the job does not fit the energy it was given
  kUnstable,       // the measurement never settled
  kNotProfiled,    // nothing was measured on this device that tells what is asked for
  kWorker,         // the worker died, hung or answered nonsense
  kOutOfMemory,    // the network does not fit the device's memory
  kForwardFailed,  // a TorchScript file was loaded, and its forward pass failed with the inputs it was given
};

// The message says what failed, on which file, node or layer, and what to do next. It is for people and may
// change; programs look at kind().
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// One word for a kind: "failed", "bad_input", "no_meter", "over_budget", "unstable", "not_profiled",
// "worker", "out_of_memory", "forward_failed". Lives as long as the program.
const char* to_word(ErrorKind kind);

// What a program should end with, as `ampere` does: 1 failed, 2 bad input, 3 no meter, 4 over budget, 5
// unstable, 6 not profiled; never 0.
int exit_code(ErrorKind kind);

}  // namespace ampere
