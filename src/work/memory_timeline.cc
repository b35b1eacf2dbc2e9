#include "work/memory_timeline.h"

#include <algorithm>

namespace ampere {

MemoryTimeline::Block MemoryTimeline::block(double bytes, MemoryUse use) {
  blocks_.push_back({bytes, use});
  return blocks_.size() - 1;
}

std::size_t MemoryTimeline::call(const std::vector<Block>& reads, const std::vector<Block>& makes,
                                 double within) {
  const std::size_t number = within_.size();
  within_.push_back(within);
  for (const Block b : makes) blocks_[b].begin = std::min(blocks_[b].begin, number);
  for (const auto* list : {&reads, &makes}) {
    for (const Block b : *list) at_least_until(b, number);
  }
  return number;
}

void MemoryTimeline::always(Block block) {
  blocks_[block].begin = 0;
  until_the_end(block);
}

void MemoryTimeline::until_the_end(Block block) { blocks_[block].end = kNever; }

void MemoryTimeline::at_least_until(Block block, std::size_t call) {
  blocks_[block].end = std::max(blocks_[block].end, call);
}

std::vector<MemoryTimeline::Change> MemoryTimeline::changes() const {
  std::vector<Change> out(within_.size() + 1);
  for (Block b = 0; b < blocks_.size(); ++b) {
    const Entry& e = blocks_[b];
    if (e.begin >= within_.size()) continue;
    out[e.begin].comes.push_back(b);
    if (e.end < within_.size()) out[e.end + 1].goes.push_back(b);
  }
  return out;
}

MemoryTimeline::Moment MemoryTimeline::peak() const {
  Moment now, most;
  const std::vector<Change> all = changes();
  for (std::size_t i = 0; i < within_.size(); ++i) {
    for (const Block b : all[i].goes) {
      now.bytes -= blocks_[b].bytes;
      now.of[static_cast<std::size_t>(blocks_[b].use)] -= blocks_[b].bytes;
    }
    for (const Block b : all[i].comes) {
      now.bytes += blocks_[b].bytes;
      now.of[static_cast<std::size_t>(blocks_[b].use)] += blocks_[b].bytes;
    }
    if (now.bytes + within_[i] <= most.bytes) continue;
    most = now;
    most.bytes += within_[i];
    most.call = i;
  }
  return most;
}

MemoryTimeline::Moment MemoryTimeline::before(std::size_t call) const {
  Moment now;
  now.call = call;
  for (const Entry& e : blocks_) {
    if (e.begin >= call || e.end < call) continue;
    now.bytes += e.bytes;
    now.of[static_cast<std::size_t>(e.use)] += e.bytes;
  }
  return now;
}

}  // namespace ampere
