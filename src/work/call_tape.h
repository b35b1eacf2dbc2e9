// Writes down the calls of a training step that nobody ran: tensors by their sizes, the calls of the forward
// pass, and from them those of the backward pass, as the text of a captured part has them (docs/capture.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

enum class TensorType { kFloat, kHalf, kLong, kBool };

class CallTape {
 public:
  using Sizes = std::vector<std::int64_t>;
  using T = int;  // a tensor, by its number
  static constexpr T kNone = -1;
  // Makes the calls that follow from the gradient of what a forward call made.
  using Backward = std::function<void(T gradient)>;

  // Dense, the last size varying fastest. `wants`: its gradient is wanted.
  T tensor(Sizes sizes, TensorType type = TensorType::kFloat, bool wants = false);
  T tensor(Sizes sizes, Sizes strides, TensorType type, bool wants = false);
  // Another look at the memory of one that is there.
  T look(T at_memory_of, Sizes sizes, Sizes strides, bool wants = false);
  // Trained: updated once its gradient is there.
  T weight(Sizes sizes);
  // As large as another and laid out like it, where that has no gaps.
  T like(T other, TensorType type);
  T like(T other) { return like(other, type(other)); }

  const Sizes& sizes(T t) const { return at(t).sizes; }
  const Sizes& strides(T t) const { return at(t).strides; }
  TensorType type(T t) const { return at(t).type; }
  bool wants(T t) const { return t >= 0 && at(t).wants; }
  std::int64_t elements(T t) const;
  std::int64_t size(T t, int dimension) const;  // from the end if negative

  // What stands for it among the arguments of a call; null for kNone.
  static Json argument(T t);
  static Json arguments(const std::vector<T>& tensors);

  // A call of the present phase. Returns its number in that phase.
  std::size_t call(const char* op, Json args, const std::vector<T>& out);
  // The gradient of a forward call as one call, as attention and recurrent layers have it.
  void gradient_call(const char* op, Json args, const std::vector<T>& out, std::size_t of);
  // That the call just made computes in half precision within.
  void mark_autocast();

  // `made` was made by a forward call; what `backward` does happens when its gradient is known. Nothing
  // happens unless its gradient is wanted.
  void on_backward(T made, Backward backward);
  // Hands a gradient on, in the sizes and the type of what it is the gradient of; several are added up.
  // Nothing where none is wanted.
  void give(T to, T gradient);
  // The whole backward pass, from the gradients of these, which are given.
  void backward(const std::vector<T>& from);

  // Trained tensors that have a gradient now.
  struct Update {
    T weight, gradient;
  };
  std::vector<Update> updates() const;
  void begin_update() { phase_ = "update"; }

  // Calls that more than one op makes.
  T cast(T x, TensorType to);           // with its gradient, cast back
  T view(T x, const Sizes& sizes);      // copies where the memory does not allow for it
  T permuted(T x, const Sizes& order);  // a view
  T slice(T x, int dimension, std::int64_t size, bool copies);  // `copies`: its gradient is padded with zeros

  // For each tensor, the first one that lies in the same memory.
  std::vector<T> memories() const;

  // {"tensors", "forward", "backward", "update"}
  Json body() &&;

 private:
  struct Entry {
    Sizes sizes, strides;
    TensorType type;
    bool wants = false;
    bool trained = false;
    T gradient = kNone;
    T memory = kNone;  // of which it is another look; kNone: its own
  };
  struct Node {
    T made;
    Backward backward;
  };
  const Entry& at(T t) const { return tensors_[static_cast<std::size_t>(t)]; }
  Entry& at(T t) { return tensors_[static_cast<std::size_t>(t)]; }
  T viewed(T x, const Sizes& sizes);

  std::vector<Entry> tensors_;
  std::vector<Node> nodes_;
  std::string phase_ = "forward";
  Json calls_ = {{"forward", Json::array()}, {"backward", Json::array()}, {"update", Json::array()}};
};

}  // namespace ampere
