#include "onednn/graph.h"

#include <algorithm>
#include <set>

namespace ampere::onednn {

Value* Graph::value(const Dims& dims, Layout layout) {
  auto made = std::make_unique<Value>();
  made->dims = dims;
  made->layout = dims.size() < 3 ? Layout::kRows : layout;
  made->data = Buffer(product(dims));
  values_.push_back(std::move(made));
  return values_.back().get();
}

Value* Graph::parameter(const Dims& dims, float range, float start) {
  Value* made = value(dims);
  made->wants_gradient = true;
  std::uniform_real_distribution<float> draw(-range, range);
  std::generate_n(made->data.data(), made->elements(), [&] { return range > 0 ? draw(random_) : start; });
  parameters_.push_back(made);
  return made;
}

Value* Graph::append(std::unique_ptr<Operation> operation, std::vector<Value*> inputs, Value* output) {
  operation->inputs = std::move(inputs);
  operation->output = output;
  steps_.push_back({std::move(operation), false, {}});
  return output;
}

bool Graph::is_read(const Value* value) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const auto& in = step.operation->inputs;
    return std::find(in.begin(), in.end(), value) != in.end();
  });
}

void Graph::finish(const std::vector<Value*>& outputs) {
  for (Step& step : steps_) {
    for (const Value* in : step.operation->inputs)
      step.operation->output->wants_gradient |= in->wants_gradient;
  }
  for (const auto& value : values_) {
    if (value->wants_gradient) value->gradient = Buffer(value->elements());
  }
  // Backward, the last reader comes first and writes; those before it add.
  std::set<const Value*> written(outputs.begin(), outputs.end());
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    Operation& operation = *step->operation;
    step->trained = operation.output->wants_gradient && written.count(operation.output) > 0;
    operation.sinks.assign(operation.inputs.size(), nullptr);
    if (!step->trained) continue;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      Value* in = operation.inputs[i];
      if (!in->wants_gradient) continue;
      if (written.insert(in).second) {
        operation.sinks[i] = in->gradient.data();
      } else {
        aside_.emplace_back(in->elements());
        operation.sinks[i] = aside_.back().data();
        step->additions.push_back({operation.sinks[i], in->gradient.data(), in->elements()});
      }
    }
  }
  for (Step& step : steps_) step.operation->prepare();
}

void Graph::forward() {
  for (Step& step : steps_) step.operation->forward();
}

void Graph::backward() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!step->trained) continue;
    step->operation->backward();
    for (const Addition& a : step->additions) {
      for (std::int64_t i = 0; i < a.count; ++i) a.to[i] += a.from[i];
    }
  }
}

void fill_normal(std::mt19937_64& random, float* data, std::int64_t count, float deviation) {
  std::normal_distribution<float> draw(0, deviation);
  std::generate_n(data, count, [&] { return draw(random); });
}

void fill_whole(std::mt19937_64& random, float* data, std::int64_t count, std::int64_t below) {
  std::uniform_int_distribution<std::int64_t> draw(0, below - 1);
  std::generate_n(data, count, [&] { return static_cast<float>(draw(random)); });
}

}  // namespace ampere::onednn
