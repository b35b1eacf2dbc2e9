#include "base/deadline.h"

#include <time.h>

#include <algorithm>
#include <limits>

namespace ampere {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
thread_local double deadline_s = kNever;

double computed_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Deadline::Deadline(double seconds) : before_s_(deadline_s) {
  deadline_s = std::min(before_s_, computed_s() + seconds);
}
Deadline::~Deadline() { deadline_s = before_s_; }

void check_deadline() {
  if (deadline_s < kNever && computed_s() > deadline_s) throw DeadlinePassed();
}

}  // namespace ampere
