#include "meter/meter.h"

#include <chrono>

namespace ampere {

Seconds now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration<double>(since).count());
}

}  // namespace ampere
