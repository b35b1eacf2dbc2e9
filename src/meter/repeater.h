// Calls something again and again from a thread of its own, for as long as it lives.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/units.h"

namespace ampere {

class Repeater {
 public:
  // `call` must not throw. The first call comes after one period.
  Repeater(Seconds period, std::function<void()> call);
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace ampere
