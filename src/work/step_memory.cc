#include "work/step_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "work/captured_memory.h"
#include "work/memory_timeline.h"

namespace ampere {
namespace {

using Block = MemoryTimeline::Block;

// A network whose calls are told: every tensor is known by what makes and reads it.
class ToldStep {
 public:
  ToldStep(const StepCalls& step, const AllocatorStyle& allocator)
      : calls_(step.body), step_(step), allocator_(allocator) {
    for (const auto& [weight, gradient] : step.trained) {
      weights_.insert(memory(weight));
      gradients_.insert(memory(gradient));
    }
  }

  StepMemory make() {
    for (const AtenCall& call : calls_.calls()) {
      if (first_backward_ == kNone && !call.forward) first_backward_ = number_;
      make(call);
    }
    StepMemory out = summary(line_, first_backward_ == kNone ? number_ : first_backward_);
    out.libraries = products_ ? allocator_.libraries : 0;
    out.peak += out.libraries;
    return out;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  int memory(int tensor) const { return step_.memories[static_cast<std::size_t>(tensor)]; }
  int memory(const CallTensor* t) const { return memory(static_cast<int>(t - calls_.tensors().data())); }

  double bytes(int memory_of) const {
    const double exact = calls_.tensors()[static_cast<std::size_t>(memory_of)].bytes();
    return std::ceil(exact / allocator_.rounding) * allocator_.rounding;
  }

  // What no call makes is there all the time.
  Block known(int memory_of, const AtenCall& call) {
    const auto found = blocks_.find(memory_of);
    if (found != blocks_.end()) return found->second;
    const bool weight = weights_.count(memory_of) > 0;
    const Block made = line_.block(bytes(memory_of), weight        ? MemoryUse::kWeight
                                                     : call.update ? MemoryUse::kState
                                                                   : MemoryUse::kData);
    line_.always(made);
    return blocks_[memory_of] = made;
  }

  void make(const AtenCall& call) {
    std::vector<Block> reads, makes;
    for (const CallTensor* t : call.reads) reads.push_back(known(memory(t), call));
    for (const CallTensor* t : call.makes) {
      const int memory_of = memory(t);
      const auto found = blocks_.find(memory_of);
      if (found != blocks_.end()) {  // written in place
        reads.push_back(found->second);
        continue;
      }
      const bool gradient = gradients_.count(memory_of) > 0;
      const Block block = line_.block(bytes(memory_of), gradient       ? MemoryUse::kGradient
                                                        : call.forward ? MemoryUse::kForward
                                                                       : MemoryUse::kBackward);
      if (gradient) line_.until_the_end(block);
      blocks_[memory_of] = block;
      makes.push_back(block);
    }
    const CallMemory extra = memory_of_call(call, allocator_);
    if (extra.kept > 0) makes.push_back(kept_[&call] = line_.block(extra.kept, MemoryUse::kForward));
    if (call.gradient_of) read_again(*call.gradient_of, reads);
    number_ = line_.call(reads, makes, extra.within) + 1;
    products_ = products_ || takes_a_product(call.op);
  }

  // A gradient that is computed together with its call's own values finds them where the call left them.
  void read_again(const AtenCall& forward, std::vector<Block>& reads) const {
    for (const auto* list : {&forward.reads, &forward.makes}) {
      for (const CallTensor* t : *list) {
        const auto found = blocks_.find(memory(t));
        if (found != blocks_.end()) reads.push_back(found->second);
      }
    }
    const auto kept = kept_.find(&forward);
    if (kept != kept_.end()) reads.push_back(kept->second);
  }

  CapturedCalls calls_;
  const StepCalls& step_;
  AllocatorStyle allocator_;
  MemoryTimeline line_;
  std::map<int, Block> blocks_;  // by memory
  std::map<const AtenCall*, Block> kept_;
  std::set<int> weights_, gradients_;
  std::size_t number_ = 0, first_backward_ = kNone;
  bool products_ = false;
};

}  // namespace

StepMemory step_memory(const Network& network, std::int64_t batch, const StepStyle& style,
                       const AllocatorStyle& allocator) {
  if (captured_batch(network)) return captured_memory(network, allocator);
  return ToldStep(step_of_network(network, batch, style), allocator).make();
}

}  // namespace ampere
