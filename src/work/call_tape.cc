#include "work/call_tape.h"

#include <algorithm>
#include <utility>

namespace ampere {
namespace {

using Sizes = CallTape::Sizes;

// Larger than any tensor: what is as large is refused where the calls are read.
constexpr std::int64_t kTooLarge = std::int64_t{1} << 62;

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kTooLarge : product;
}

Sizes dense_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = times(step, sizes[i]);
  }
  return strides;
}

bool fills_its_memory(const Sizes& sizes, const Sizes& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) steps.emplace_back(strides[i], sizes[i]);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : steps) {
    if (stride != expected) return false;
    expected = times(expected, size);
  }
  return true;
}

// The same memory with other sizes. Dimensions that lie in memory as one are one run; each run has to be made
// of whole new dimensions.
std::optional<Sizes> strides_seen_as(const Sizes& sizes, const Sizes& strides, const Sizes& as) {
  struct Run {
    std::int64_t length, step;
  };
  std::vector<Run> runs;  // the last dimension first
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (!runs.empty() && strides[i] == times(runs.back().length, runs.back().step))
      runs.back().length = times(runs.back().length, sizes[i]);
    else
      runs.push_back({sizes[i], strides[i]});
  }
  Sizes out(as.size(), 1);
  std::size_t run = 0;
  std::int64_t used = 1;
  for (std::size_t i = as.size(); i-- > 0;) {
    if (run == runs.size()) {  // only ones are left
      out[i] = runs.empty() ? 1 : times(runs.back().length, runs.back().step);
      if (as[i] != 1) return std::nullopt;
      continue;
    }
    out[i] = times(used, runs[run].step);
    used = times(used, as[i]);
    if (used <= 0 || used > runs[run].length || runs[run].length % used != 0) return std::nullopt;
    if (used == runs[run].length) {
      ++run;
      used = 1;
    }
  }
  if (run != runs.size()) return std::nullopt;
  return out;
}

const char* dtype_of(TensorType type) {
  switch (type) {
    case TensorType::kFloat:
      return "float32";
    case TensorType::kHalf:
      return "bfloat16";
    case TensorType::kLong:
      return "int64";
    default:
      return "bool";
  }
}

}  // namespace

CallTape::T CallTape::tensor(Sizes sizes, TensorType type, bool wants) {
  Sizes strides = dense_strides(sizes);
  return tensor(std::move(sizes), std::move(strides), type, wants);
}

CallTape::T CallTape::tensor(Sizes sizes, Sizes strides, TensorType type, bool wants) {
  tensors_.push_back({std::move(sizes), std::move(strides), type, wants});
  return static_cast<T>(tensors_.size()) - 1;
}

CallTape::T CallTape::look(T at_memory_of, Sizes sizes, Sizes strides, bool wants) {
  const T own = at(at_memory_of).memory;
  const T made = tensor(std::move(sizes), std::move(strides), type(at_memory_of), wants);
  at(made).memory = own == kNone ? at_memory_of : own;
  return made;
}

CallTape::T CallTape::weight(Sizes sizes) {
  const T made = tensor(std::move(sizes), TensorType::kFloat, true);
  at(made).trained = true;
  return made;
}

CallTape::T CallTape::like(T other, TensorType type) {
  Sizes sizes = at(other).sizes, strides = at(other).strides;
  if (!fills_its_memory(sizes, strides)) return tensor(std::move(sizes), type, wants(other));
  return tensor(std::move(sizes), std::move(strides), type, wants(other));
}

std::int64_t CallTape::elements(T t) const {
  std::int64_t product = 1;
  for (const std::int64_t size : at(t).sizes) product = times(product, size);
  return product;
}

std::int64_t CallTape::size(T t, int dimension) const {
  const auto count = static_cast<int>(at(t).sizes.size());
  return at(t).sizes[static_cast<std::size_t>(dimension < 0 ? count + dimension : dimension)];
}

Json CallTape::argument(T t) {
  return t == kNone ? Json(nullptr) : Json{{"t", static_cast<std::uint64_t>(t)}};
}

Json CallTape::arguments(const std::vector<T>& tensors) {
  Json out = Json::array();
  for (const T t : tensors) out.push_back(argument(t));
  return out;
}

std::size_t CallTape::call(const char* op, Json args, const std::vector<T>& out) {
  Json made = Json::array();
  for (const T t : out) made.push_back(t == kNone ? Json(nullptr) : Json(static_cast<std::uint64_t>(t)));
  Json& calls = calls_[phase_];
  calls.push_back({{"op", op}, {"args", std::move(args)}, {"out", std::move(made)}});
  return calls.size() - 1;
}

void CallTape::gradient_call(const char* op, Json args, const std::vector<T>& out, std::size_t of) {
  call(op, std::move(args), out);
  calls_[phase_].back()["of"] = of;
}

void CallTape::mark_autocast() { calls_[phase_].back()["autocast"] = "bfloat16"; }

void CallTape::on_backward(T made, Backward backward) {
  if (wants(made)) nodes_.push_back({made, std::move(backward)});
}

void CallTape::give(T to, T gradient) {
  if (!wants(to)) return;
  if (elements(gradient) != elements(to)) {  // it was spread over larger ones
    const T sum = tensor(sizes(to), type(gradient));
    call("sum", Json::array({argument(gradient)}), {sum});
    gradient = sum;
  }
  if (type(gradient) != type(to)) {
    const T cast_back = like(gradient, type(to));
    call("_to_copy", Json::array({argument(gradient)}), {cast_back});
    gradient = cast_back;
  }
  T& known = at(to).gradient;
  if (known == kNone) {
    known = gradient;
    return;
  }
  const T before = known;
  const T sum = like(before);
  call("add", Json::array({argument(before), argument(gradient)}), {sum});
  at(to).gradient = sum;
}

void CallTape::backward(const std::vector<T>& from) {
  phase_ = "backward";
  for (const T t : from) {
    if (wants(t)) give(t, tensor(Sizes(sizes(t)), type(t)));
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const T known = at(nodes_[i].made).gradient;
    if (known != kNone) nodes_[i].backward(known);
  }
}

std::vector<CallTape::Update> CallTape::updates() const {
  std::vector<Update> out;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].trained && tensors_[i].gradient != kNone)
      out.push_back({static_cast<T>(i), tensors_[i].gradient});
  }
  return out;
}

CallTape::T CallTape::cast(T x, TensorType to) {
  if (x == kNone || type(x) == to) return x;
  const T made = like(x, to);
  call("_to_copy", Json::array({argument(x)}), {made});
  on_backward(made, [this, x](T gradient) { give(x, gradient); });
  return made;
}

CallTape::T CallTape::viewed(T x, const Sizes& as) {
  if (const auto strides_there = strides_seen_as(sizes(x), strides(x), as))
    return look(x, as, *strides_there, wants(x));
  const T copy = tensor(sizes(x), type(x), wants(x));
  call("clone", Json::array({argument(x)}), {copy});
  return look(copy, as, dense_strides(as), wants(x));
}

CallTape::T CallTape::view(T x, const Sizes& as) {
  if (as == sizes(x)) return x;
  const T made = viewed(x, as);
  on_backward(made, [this, x](T gradient) { give(x, viewed(gradient, Sizes(sizes(x)))); });
  return made;
}

CallTape::T CallTape::permuted(T x, const Sizes& order) {
  const auto reordered = [](const Sizes& of, const Sizes& by) {
    Sizes out;
    for (const std::int64_t i : by) out.push_back(of[static_cast<std::size_t>(i)]);
    return out;
  };
  const T made = look(x, reordered(sizes(x), order), reordered(strides(x), order), wants(x));
  Sizes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  on_backward(made, [this, x, back, reordered](T gradient) {
    give(x, look(gradient, reordered(sizes(gradient), back), reordered(strides(gradient), back)));
  });
  return made;
}

CallTape::T CallTape::slice(T x, int dimension, std::int64_t size, bool copies) {
  Sizes part = sizes(x);
  part[static_cast<std::size_t>(dimension)] = size;
  const T made = look(x, part, Sizes(strides(x)), copies && wants(x));
  on_backward(made, [this, x](T gradient) {
    const T padded = tensor(sizes(x), type(gradient));
    call("slice_backward", Json::array({argument(gradient)}), {padded});
    give(x, padded);
  });
  return made;
}

std::vector<CallTape::T> CallTape::memories() const {
  std::vector<T> out;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    out.push_back(tensors_[i].memory == kNone ? static_cast<T>(i) : tensors_[i].memory);
  return out;
}

Json CallTape::body() && {
  const auto whole = [](const Sizes& sizes) {
    return std::vector<std::uint64_t>(sizes.begin(), sizes.end());
  };
  Json tensors = Json::array();
  for (const Entry& t : tensors_)
    tensors.push_back(
        {{"sizes", whole(t.sizes)}, {"strides", whole(t.strides)}, {"dtype", dtype_of(t.type)}});
  calls_["tensors"] = std::move(tensors);
  return std::move(calls_);
}

}  // namespace ampere
