#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace ampere {
namespace {

// More would mostly wait for memory.
constexpr std::size_t kMostThreads = 16;

std::size_t cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)), 1, kMostThreads);
}

}  // namespace

void in_parallel(std::size_t count, std::size_t in_a_piece,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t pieces = (count + in_a_piece - 1) / in_a_piece;
  const auto run = [&](std::size_t piece) {
    work(piece * in_a_piece, std::min(count, (piece + 1) * in_a_piece));
  };
  const std::size_t threads = pieces < 2 ? 1 : std::min(cores(), pieces);
  if (threads < 2) {
    for (std::size_t piece = 0; piece < pieces; ++piece) run(piece);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> thrown(pieces);
  const auto share = [&] {
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      try {
        run(piece);
      } catch (...) {
        thrown[piece] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  try {
    while (others.size() + 1 < threads) others.emplace_back(share);
  } catch (...) {  // no more threads are allowed, or no memory is left for one: those that are there do it
  }
  share();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace ampere
