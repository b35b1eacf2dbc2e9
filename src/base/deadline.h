// How long this thread may still compute: what strangers ask for has to end.
#pragma once

#include <stdexcept>

namespace ampere {

struct DeadlinePassed : std::runtime_error {
  DeadlinePassed() : std::runtime_error("this takes too long") {}
};

// While one lives, check_deadline() throws on this thread once it has computed for so many seconds; waiting
// does not count. Within another one the earlier counts.
class Deadline {
 public:
  explicit Deadline(double seconds);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  double before_s_;
};

// Throws DeadlinePassed. Called by what may go on for long, between two steps that each take milliseconds at
// most and where nothing is left half done. Free where nobody set one.
void check_deadline();

}  // namespace ampere
