// The one exception type of the project, and what the command line makes of it.
#pragma once

#include <stdexcept>
#include <string>

namespace ampere {

// Why something failed. Each kind has one exit code (see exit_code).
enum class ErrorKind {
  kFailed,         // anything without a kind of its own
  kBadInput,       // wrong usage, malformed file, impossible shape
  kNoMeter,        // no energy meter can be used here
  kOverBudget,     // the job does not fit the energy it was given
  kUnstable,       // the measurement never settled
  kNotProfiled,    // the estimate needs layer kinds nobody has measured on this device
  kWorker,         // the worker died, hung or answered nonsense
  kOutOfMemory,    // the network does not fit the device's memory
  kForwardFailed,  // a TorchScript file was loaded, and its forward pass failed with the inputs it was given
};

// The message says what failed, on which file, node or layer, and what to do next.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Short for the most common kind.
inline Error bad_input(const std::string& message) { return {ErrorKind::kBadInput, message}; }

// 0 is success; 1 failed, 2 bad input, 3 no meter, 4 over budget, 5 unstable, 6 not profiled.
int exit_code(ErrorKind kind);

// The word for a kind in protocol messages ("bad_input"), and back. Unknown words are kFailed.
const char* to_word(ErrorKind kind);
ErrorKind error_kind_from_word(const std::string& word);

}  // namespace ampere
