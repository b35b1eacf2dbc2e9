#include "fleet/together.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace ampere {
namespace {

TEST(Together, EachDeviceOnceAndNoMachineTwiceAtATime) {
  Fleet fleet;
  fleet.at_once = 4;
  for (int i = 0; i < 30; ++i)
    fleet.devices.push_back({std::to_string(i), "ssh host" + std::to_string(i % 6), "", ""});
  std::mutex mutex;
  std::multiset<std::string> running;
  std::multiset<std::size_t> done;
  std::size_t most = 0;
  for_each_device(fleet, [&](std::size_t i) {
    {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(running.count(fleet.devices[i].reach), 0u);
      running.insert(fleet.devices[i].reach);
      most = std::max(most, running.size());
      done.insert(i);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard lock(mutex);
    running.erase(fleet.devices[i].reach);
  });
  EXPECT_EQ(done.size(), 30u);
  EXPECT_EQ(std::set<std::size_t>(done.begin(), done.end()).size(), 30u);
  EXPECT_LE(most, 4u);
}

TEST(Together, OneOfAKindAtATime) {
  TakeTurns turns;
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto mine = turns.wait_for("h200");
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      --inside;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  const auto one = turns.wait_for("a");
  const auto other = turns.wait_for("b");  // does not wait for the first
}

}  // namespace
}  // namespace ampere
