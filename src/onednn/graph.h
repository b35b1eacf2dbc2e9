// The operations of a network in the order they run, with their values: forward in that order, backward in
// the other.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "onednn/operation.h"

namespace ampere::onednn {

class Graph {
 public:
  explicit Graph(std::uint64_t seed) : random_(seed) {}

  Value* value(const Dims& dims, Layout layout = Layout::kRows);
  // A value that is trained, of numbers between -range and range, or `start` where the range is 0.
  Value* parameter(const Dims& dims, float range, float start = 0);

  // Appends an operation that reads `inputs` and puts out `output`; returns the output.
  template <class Kind, class... Arguments>
  Value* add(const std::vector<Value*>& inputs, Value* output, Arguments&&... arguments) {
    auto operation = std::make_unique<Kind>(std::forward<Arguments>(arguments)...);
    return append(std::move(operation), inputs, output);
  }
  Value* append(std::unique_ptr<Operation> operation, std::vector<Value*> inputs, Value* output);

  // To be called once everything is added: which gradients are wanted, by whom they are written first and by
  // whom added to, and their memory. The gradients of `outputs` come from elsewhere; no operation reads
  // these.
  void finish(const std::vector<Value*>& outputs);

  void forward();
  // The gradients of the outputs are there already.
  void backward();

  const std::vector<Value*>& parameters() const { return parameters_; }
  // Whether an operation reads the value.
  bool is_read(const Value* value) const;
  std::mt19937_64& random() { return random_; }

 private:
  // A gradient that was put aside, because its value has one already.
  struct Addition {
    const float* from;
    float* to;
    std::int64_t count;
  };
  struct Step {
    std::unique_ptr<Operation> operation;
    bool trained = false;  // part of the backward pass
    std::vector<Addition> additions;
  };

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<Value*> parameters_;
  std::vector<Step> steps_;
  std::vector<Buffer> aside_;
};

// Fills with normal numbers, or with whole numbers from 0 up to `below`.
void fill_normal(std::mt19937_64& random, float* data, std::int64_t count, float deviation = 1);
void fill_whole(std::mt19937_64& random, float* data, std::int64_t count, std::int64_t below);

}  // namespace ampere::onednn
