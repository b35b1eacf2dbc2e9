// What is in memory while calls are made one after the other: blocks, and from which call until which each is
// there.
#pragma once

#include <cstddef>
#include <vector>

namespace ampere {

// What a block is for.
enum class MemoryUse { kWeight, kState, kData, kGradient, kForward, kBackward };
inline constexpr std::size_t kMemoryUses = 6;

class MemoryTimeline {
 public:
  using Block = std::size_t;

  // Nothing of it is there yet.
  Block block(double bytes, MemoryUse use);
  // The next call: it reads and makes blocks, which are there while it runs, and takes more for as long.
  // Returns its number.
  std::size_t call(const std::vector<Block>& reads, const std::vector<Block>& makes, double within = 0);
  // There from before the first call until behind the last.
  void always(Block block);
  // There until behind the last call, once it is made; or until the end of one call at least.
  void until_the_end(Block block);
  void at_least_until(Block block, std::size_t call);
  double bytes_of(Block block) const { return blocks_[block].bytes; }
  bool made(Block block) const { return blocks_[block].begin != kNever; }

  struct Moment {
    double bytes = 0;
    std::size_t call = 0;
    std::vector<double> of = std::vector<double>(kMemoryUses, 0);  // by MemoryUse; the rest is within calls
  };
  // The most that is there while any call runs.
  Moment peak() const;
  // Just before a call.
  Moment before(std::size_t call) const;
  // Behind the last.
  Moment at_the_end() const { return before(within_.size()); }

 private:
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  struct Entry {
    double bytes;
    MemoryUse use;
    std::size_t begin = kNever, end = 0;  // calls that it is there in
  };
  struct Change {
    std::vector<Block> comes, goes;
  };
  std::vector<Change> changes() const;

  std::vector<Entry> blocks_;
  std::vector<double> within_;  // by call
};

}  // namespace ampere
