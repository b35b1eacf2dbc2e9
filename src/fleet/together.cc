#include "fleet/together.h"

#include <algorithm>
#include <condition_variable>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace ampere {
namespace {

class Queue {
 public:
  explicit Queue(const Fleet& fleet) : fleet_(fleet), taken_(fleet.devices.size(), false) {}

  // The next device whose machine is free, waiting for one where there is none; false: all are taken.
  bool take(std::size_t& next) {
    std::unique_lock lock(mutex_);
    while (true) {
      bool any_left = false;
      for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (taken_[i]) continue;
        any_left = true;
        if (busy_.count(fleet_.devices[i].reach) > 0) continue;
        taken_[i] = true;
        busy_.insert(fleet_.devices[i].reach);
        next = i;
        return true;
      }
      if (!any_left) return false;
      freed_.wait(lock);
    }
  }

  void give_back(std::size_t i) {
    {
      const std::lock_guard lock(mutex_);
      busy_.erase(fleet_.devices[i].reach);
    }
    freed_.notify_all();
  }

 private:
  const Fleet& fleet_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<bool> taken_;
  std::set<std::string> busy_;  // machines
};

}  // namespace

void for_each_device(const Fleet& fleet, const std::function<void(std::size_t)>& work) {
  Queue queue(fleet);
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(fleet.at_once), fleet.devices.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    try {
      threads.emplace_back([&] {
        for (std::size_t i = 0; queue.take(i); queue.give_back(i)) work(i);
      });
    } catch (const std::system_error&) {  // the machine gives no more of them: fewer will do
      if (threads.empty()) throw Error(ErrorKind::kFailed, "no thread can be started here (ulimit -u)");
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
}

std::unique_lock<std::mutex> TakeTurns::wait_for(const std::string& name) {
  std::mutex* turn = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& found = turns_[name];
    if (!found) found = std::make_unique<std::mutex>();
    turn = found.get();
  }
  return std::unique_lock(*turn);
}

}  // namespace ampere
