// The calls of a captured part as they were written down: tensors, and which call reads and makes which.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

struct CallTensor {
  std::vector<double> sizes;
  std::vector<double> strides;
  int element_bytes = 4;
  bool floating = false;

  double elements() const;
  double bytes() const { return elements() * element_bytes; }
  // The size of one dimension, from the end if negative; 1 where there is none.
  double size(int dimension) const;
  // Product of the sizes from this dimension on.
  double elements_from(std::size_t dimension) const;
  // Whether channels vary fastest in memory, as images may be laid out.
  bool channels_last() const;
  // Whether it fills its memory without gaps.
  bool dense() const;
};

// One call, with its tensors at hand. Points into the CapturedCalls that made it.
struct AtenCall {
  std::string op;  // without "aten::"
  const Json* args = nullptr;
  std::vector<const CallTensor*> arguments;  // by place; null where the argument is no tensor
  std::vector<const CallTensor*> reads;      // all of them, in lists and by name too, each once
  std::vector<const CallTensor*> makes;
  bool autocast = false;  // to half precision, within the call
  bool forward = true;
  bool update = false;                    // neither: backward
  const AtenCall* gradient_of = nullptr;  // a call that is told with its gradient

  const CallTensor* argument(std::size_t place) const;
  // A list of whole numbers or flags; empty where the argument is none.
  std::vector<double> numbers(std::size_t place) const;
  bool flag_anywhere() const;  // whether any argument is `true`
  // Of one argument; false and 0 where it is something else.
  bool flag(std::size_t place) const;
  double number(std::size_t place) const;
};

class CapturedCalls {
 public:
  // Throws Error{kBadInput}.
  explicit CapturedCalls(Json body);
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  const std::vector<AtenCall>& calls() const { return calls_; }
  const std::vector<CallTensor>& tensors() const { return tensors_; }
  const Json& body() const { return body_; }
  bool compiled() const { return compiled_; }

 private:
  AtenCall read(const Json& call, bool forward, std::size_t forward_calls) const;
  void collect(const Json& value, int depth, std::set<const CallTensor*>& seen,
               std::vector<const CallTensor*>& found) const;
  const CallTensor* tensor(const Json& value) const;

  Json body_;
  std::vector<CallTensor> tensors_;
  std::vector<AtenCall> calls_;
  bool compiled_ = false;
};

}  // namespace ampere
