#include "meter/meter.h"

#include <chrono>

#include "base/error.h"

namespace ampere {

Seconds now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration<double>(since).count());
}

void no_meter(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::kNoMeter, name + ": " + why);
}

}  // namespace ampere
