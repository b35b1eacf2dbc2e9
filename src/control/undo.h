// What puts a device back to what it was: written down before anything is changed.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "meter/nvml_library.h"

namespace ampere {

// Who may not put something back could not change it either: it is as it was.
class NotPermitted : public Error {
 public:
  explicit NotPermitted(const std::string& message) : Error(ErrorKind::kFailed, message) {}
};

struct Undo {
  enum class Kind {
    kPowerLimit,  // target: UUID of a GPU; value: milliwatts
    kClockLock,   // target: UUID of a GPU; its lock is released
    kSysfs,       // target: path of a file; value: what it held
  };
  Kind kind = Kind::kSysfs;
  std::string target = {};
  std::string value = {};

  // One line, and back; throws Error{kFailed} for a line that is none.
  std::string line() const;
  static Undo from_line(const std::string& line);
  // What an administrator would run to do it by hand.
  std::string command() const;
};

// Does it. `nvml` is used for GPUs, and loaded where it is null. Throws NotPermitted, Error{kFailed} or what
// loading throws.
void put_back(const Undo& undo, std::shared_ptr<const Nvml>& nvml);

// The GPU with this UUID. Throws Error{kFailed} when it is gone.
Nvml::Device gpu_by_uuid(const Nvml& nvml, const std::string& uuid);

// Writes a small file of the kernel's in one go. Throws NotPermitted or Error{kFailed}, with why.
void write_sysfs(const std::string& path, const std::string& text);

}  // namespace ampere
