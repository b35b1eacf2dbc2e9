#include "onednn/loss.h"

#include <algorithm>
#include <cmath>

namespace ampere::onednn {

Loss::Loss(Value& output, std::mt19937_64& random)
    : output_(output), by_classes_((output.rank() == 2 || output.rank() == 3) && output.dims.back() > 1) {
  const std::int64_t classes = output.dims.back();
  target_ = Buffer(by_classes_ ? output.elements() / classes : output.elements());
  if (by_classes_) {
    fill_whole(random, target_.data(), target_.size(), classes);
  } else {
    fill_normal(random, target_.data(), target_.size());
  }
}

double Loss::forward() { return by_classes_ ? cross_entropy() : squared_error(); }

double Loss::cross_entropy() {
  const std::int64_t classes = output_.dims.back(), rows = target_.size();
  const float share = 1.0F / static_cast<float>(rows);
  double loss = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = output_.data.data() + r * classes;
    const float largest = *std::max_element(x, x + classes);
    float total = 0;
    for (std::int64_t i = 0; i < classes; ++i) total += std::exp(x[i] - largest);
    const auto right = static_cast<std::int64_t>(target_.data()[r]);
    loss += std::log(total) - (x[right] - largest);
    if (!output_.wants_gradient) continue;
    float* g = output_.gradient.data() + r * classes;
    for (std::int64_t i = 0; i < classes; ++i) g[i] = std::exp(x[i] - largest) / total * share;
    g[right] -= share;
  }
  return loss / static_cast<double>(rows);
}

double Loss::squared_error() {
  const std::int64_t count = output_.elements();
  const float *x = output_.data.data(), *t = target_.data();
  float* g = output_.wants_gradient ? output_.gradient.data() : nullptr;
  const float factor = 2.0F / static_cast<float>(count);
  double loss = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float d = x[i] - t[i];
    loss += d * d;
    if (g) g[i] = factor * d;
  }
  return loss / static_cast<double>(count);
}

}  // namespace ampere::onednn
