#include "work/captured_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace ampere {
namespace {

using Block = MemoryTimeline::Block;
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::string told_word(const Json& tensor, const char* key) {
  const auto found = tensor.find(key);
  return found != tensor.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_gradient(const AtenCall& call) { return !call.forward && !call.update; }

// One part, with the blocks that its tensors lie in.
struct CapturedPiece {
  explicit CapturedPiece(Json body) : calls(std::move(body)) {
    for (const AtenCall& call : calls.calls()) {
      if (call.gradient_of) keeps.insert(call.gradient_of);
    }
  }

  CapturedCalls calls;
  std::set<const AtenCall*> keeps;        // forward calls whose gradients need what they read and made
  std::vector<Block> blocks;              // by tensor; kNowhere: of another part, or not there yet
  std::vector<Block> for_backward;        // made by the forward pass and read by the backward pass
  std::map<const AtenCall*, Block> kept;  // within forward calls, for their gradients

  std::size_t index(const CallTensor* t) const {
    return static_cast<std::size_t>(t - calls.tensors().data());
  }
  std::string told(const CallTensor* t, const char* key) const {
    return told_word(calls.body().at("tensors")[index(t)], key);
  }
  bool updates() const {
    return std::any_of(calls.calls().begin(), calls.calls().end(),
                       [](const AtenCall& c) { return c.update; });
  }
};

class CapturedStep {
 public:
  CapturedStep(const Network& network, const AllocatorStyle& allocator) : allocator_(allocator) {
    for (const Node& node : network.nodes()) {
      if (node.op != Op::kCalls || !node.list("host").empty()) continue;
      parts_.push_back(std::make_unique<CapturedPiece>(parse_json(node.word("calls"), "calls")));
      parameters_ += static_cast<double>(node.integer("parameters"));
      rough_ = rough_ || parts_.back()->calls.compiled();
    }
  }

  StepMemory make() {
    for (auto& part : parts_) introduce(*part);
    for (auto& part : parts_) run(*part, [](const AtenCall& c) { return c.forward; });
    hand_on({});
    const std::size_t turn = number_;
    for (std::size_t i = parts_.size(); i-- > 0;) {
      // What no call of this part reads again was read by one behind it.
      for (const Block b : parts_[i]->for_backward)
        if (number_ > 0) line_.at_least_until(b, number_ - 1);
      run(*parts_[i], is_gradient);
    }
    hand_on({});
    for (auto& part : parts_) run(*part, [](const AtenCall& c) { return c.update; });
    StepMemory out = summary(line_, turn);
    // Tied weights stand in several parts, and those that nothing reads in none.
    const double weights = weight_elements_ > 0 ? parameters_ * out.weights / weight_elements_ : out.weights;
    out.libraries = products_ ? allocator_.libraries : 0;
    out.peak += weights - out.weights + out.libraries;
    out.weights = weights;
    out.rough = rough_;
    return out;
  }

 private:
  double rounded(double bytes) const { return std::ceil(bytes / allocator_.rounding) * allocator_.rounding; }

  // What is there from step to step. The optimizer's own part names weights again, and several parts may read
  // the same input.
  void introduce(CapturedPiece& part) {
    const std::vector<CallTensor>& tensors = part.calls.tensors();
    part.blocks.assign(tensors.size(), kNowhere);
    const bool updates = part.updates();
    std::map<std::string, int> inputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Json& told = part.calls.body().at("tensors")[i];
      const std::string from = told_word(told, "from");
      const bool weight = from == "parameter" && !updates;
      if (!weight && from != "buffer" && from != "input" && from != "state") continue;
      if (from == "input") {
        const std::string alike = told.value("sizes", Json::array()).dump() + told_word(told, "dtype");
        if (++inputs[alike] <= inputs_[alike]) continue;
        ++inputs_[alike];
      }
      const MemoryUse use = weight            ? MemoryUse::kWeight
                            : from == "state" ? MemoryUse::kState
                                              : MemoryUse::kData;
      if (weight) weight_elements_ += tensors[i].elements();
      part.blocks[i] = line_.block(rounded(tensors[i].bytes()), use);
      line_.always(part.blocks[i]);
    }
  }

  // What a part made and did not read itself, or made last, is there for the next.
  void hand_on(std::vector<Block> made) {
    if (number_ > 0) {
      for (const Block b : handed_on_) line_.at_least_until(b, number_ - 1);
    }
    handed_on_ = std::move(made);
  }

  template <class Wanted>
  void run(CapturedPiece& part, const Wanted& wanted) {
    std::set<Block> unread;
    Block last = kNowhere;
    const std::size_t begin = number_;
    for (const AtenCall& call : part.calls.calls()) {
      if (wanted(call)) make(part, call, unread, last);
    }
    if (number_ == begin) return;
    if (last != kNowhere) unread.insert(last);
    hand_on({unread.begin(), unread.end()});
  }

  Block made_by(CapturedPiece& part, const AtenCall& call, const CallTensor* t) {
    const std::string until = part.told(t, "until");
    const bool gradient = until == "update" && is_gradient(call);
    const Block b = line_.block(rounded(t->bytes()), gradient       ? MemoryUse::kGradient
                                                     : call.forward ? MemoryUse::kForward
                                                                    : MemoryUse::kBackward);
    if (until == "update" && !call.update) line_.until_the_end(b);  // an update's own come and go within it
    // A compiler keeps what it likes; as if it were not one.
    if (call.forward && (until == "backward" || part.calls.compiled())) part.for_backward.push_back(b);
    return b;
  }

  void make(CapturedPiece& part, const AtenCall& call, std::set<Block>& unread, Block& last) {
    std::vector<Block> reads, makes;
    if (part.keeps.count(&call)) keep_of_others(part, call, makes);
    for (const CallTensor* t : call.reads) {
      const Block b = part.blocks[part.index(t)];
      if (b == kNowhere) continue;
      reads.push_back(b);
      unread.erase(b);
    }
    for (const CallTensor* t : call.makes) {
      Block& b = part.blocks[part.index(t)];
      if (b != kNowhere) continue;  // written in place
      if (only_looks(call.op)) {
        if (!call.reads.empty()) b = part.blocks[part.index(call.reads.front())];
        if (b != kNowhere) last = b;
        continue;
      }
      if (!part.told(t, "from").empty()) continue;  // in place, and of another part
      b = last = made_by(part, call, t);
      makes.push_back(b);
      unread.insert(b);
    }
    const CallMemory extra = memory_of_call(call, allocator_);
    if (extra.kept > 0) {
      makes.push_back(part.kept[&call] = line_.block(extra.kept, MemoryUse::kForward));
      part.for_backward.push_back(makes.back());
    }
    if (call.gradient_of) read_again(part, *call.gradient_of, reads);
    number_ = line_.call(reads, makes, extra.within) + 1;
    products_ = products_ || takes_a_product(call.op);
  }

  // What a call keeps for its gradient that another part made: what that handed on, or else what it let go.
  void keep_of_others(CapturedPiece& part, const AtenCall& call, std::vector<Block>& makes) {
    for (const CallTensor* t : call.reads) {
      Block& b = part.blocks[part.index(t)];
      const std::string from = part.told(t, "from");
      if (b != kNowhere || !(from.empty() || from == "activation")) continue;
      const double bytes = rounded(t->bytes());
      const auto handed = std::find_if(handed_on_.begin(), handed_on_.end(),
                                       [&](Block h) { return line_.bytes_of(h) == bytes; });
      if (handed != handed_on_.end()) {
        b = *handed;
        handed_on_.erase(handed);
      } else {
        makes.push_back(b = line_.block(bytes, MemoryUse::kForward));
      }
      part.for_backward.push_back(b);
    }
  }

  // A gradient that is computed together with its call's own values finds them where the call left them.
  static void read_again(const CapturedPiece& part, const AtenCall& forward, std::vector<Block>& reads) {
    for (const auto* list : {&forward.reads, &forward.makes}) {
      for (const CallTensor* t : *list) {
        const Block b = part.blocks[part.index(t)];
        if (b != kNowhere) reads.push_back(b);
      }
    }
    const auto kept = part.kept.find(&forward);
    if (kept != part.kept.end()) reads.push_back(kept->second);
  }

  AllocatorStyle allocator_;
  std::vector<std::unique_ptr<CapturedPiece>> parts_;
  MemoryTimeline line_;
  std::vector<Block> handed_on_;
  std::map<std::string, int> inputs_;  // as many of each size as any part reads
  std::size_t number_ = 0;
  double parameters_ = 0, weight_elements_ = 0;
  bool products_ = false, rough_ = false;
};

}  // namespace

StepMemory captured_memory(const Network& network, const AllocatorStyle& allocator) {
  return CapturedStep(network, allocator).make();
}

StepMemory summary(const MemoryTimeline& line, std::size_t turn) {
  const MemoryTimeline::Moment peak = line.peak(), middle = line.before(turn), end = line.at_the_end();
  const auto part = [](const MemoryTimeline::Moment& m, MemoryUse use) {
    return m.of[static_cast<std::size_t>(use)];
  };
  StepMemory out;
  out.weights = part(end, MemoryUse::kWeight);
  out.optimizer = part(end, MemoryUse::kState);
  out.data = part(end, MemoryUse::kData);
  out.gradients = part(end, MemoryUse::kGradient);
  out.saved = part(middle, MemoryUse::kForward);
  out.peak = peak.bytes;
  out.temporaries = peak.bytes - out.weights - out.optimizer - out.data - part(peak, MemoryUse::kGradient) -
                    part(peak, MemoryUse::kForward);
  return out;
}

bool takes_a_product(const std::string& op) {
  static const std::set<std::string> names = {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "lstm", "gru"};
  return names.count(op) > 0;
}

}  // namespace ampere
