#include "meter/repeater.h"

#include <chrono>
#include <utility>

namespace ampere {

Repeater::Repeater(Seconds period, std::function<void()> call)
    : thread_([this, period, run = std::move(call)] {
        const std::chrono::duration<double> wait(period.value());
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, wait, [this] { return end_; })) {
          lock.unlock();
          run();
          lock.lock();
        }
      }) {}

Repeater::~Repeater() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace ampere
