#include "work/call_tensors.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kMostTensors = 1u << 20;
constexpr int kMostNesting = 8;
constexpr std::uint64_t kMostOfASize = std::uint64_t{1} << 40;
constexpr double kMostElements = 1e15;

[[noreturn]] void wrong(const char* what) { throw bad_input(std::string("captured calls: ") + what); }

const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  if (found == object.end()) return none;
  if (!found->is_array()) wrong("a list was expected");
  return *found;
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> out;
  if (!list.is_array()) return out;
  for (const Json& value : list) {
    if (value.is_number()) {
      out.push_back(value.get<double>());
    } else if (value.is_boolean()) {
      out.push_back(value.get<bool>() ? 1 : 0);
    }
  }
  return out;
}

struct ElementType {
  int bytes;
  bool floating;
};

ElementType type_of(const std::string& name) {
  static const std::map<std::string, ElementType> known = {
      {"float32", {4, true}}, {"float64", {8, true}}, {"bfloat16", {2, true}},  {"float16", {2, true}},
      {"int64", {8, false}},  {"int32", {4, false}},  {"int16", {2, false}},    {"int8", {1, false}},
      {"uint8", {1, false}},  {"bool", {1, false}},   {"complex64", {8, false}}};
  const auto found = known.find(name);
  return found == known.end() ? ElementType{4, false} : found->second;
}

// Of a tensor that a device could hold.
std::vector<double> whole_numbers_of(const Json& list) {
  std::vector<double> out;
  for (const Json& value : list) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostOfASize)
      wrong("sizes and strides are whole numbers, and not so large");
    out.push_back(static_cast<double>(value.get<std::uint64_t>()));
  }
  return out;
}

CallTensor tensor_of(const Json& json) {
  if (!json.is_object()) wrong("a tensor is an object");
  CallTensor tensor;
  tensor.sizes = whole_numbers_of(list_of(json, "sizes"));
  tensor.strides = whole_numbers_of(list_of(json, "strides"));
  if (!(tensor.elements() <= kMostElements)) wrong("a tensor is larger than any memory");
  if (tensor.sizes.size() != tensor.strides.size()) wrong("a tensor has as many strides as sizes");
  const auto dtype = json.find("dtype");
  const ElementType type =
      type_of(dtype != json.end() && dtype->is_string() ? dtype->get<std::string>() : "");
  tensor.element_bytes = type.bytes;
  tensor.floating = type.floating;
  return tensor;
}

}  // namespace

double CallTensor::elements() const { return elements_from(0); }

double CallTensor::elements_from(std::size_t dimension) const {
  double product = 1;
  for (std::size_t i = dimension; i < sizes.size(); ++i) product *= sizes[i];
  return product;
}

double CallTensor::size(int dimension) const {
  const int count = static_cast<int>(sizes.size());
  const int place = dimension < 0 ? count + dimension : dimension;
  return place >= 0 && place < count ? sizes[place] : 1;
}

bool CallTensor::channels_last() const {
  return (sizes.size() == 4 || sizes.size() == 5) && sizes[1] > 1 && strides[1] == 1 && elements_from(2) > 1;
}

bool CallTensor::dense() const {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  double expected = 1;
  for (const std::size_t i : order) {
    if (sizes[i] <= 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

const CallTensor* AtenCall::argument(std::size_t place) const {
  return place < arguments.size() ? arguments[place] : nullptr;
}

std::vector<double> AtenCall::numbers(std::size_t place) const {
  return place < args->size() ? numbers_of((*args)[place]) : std::vector<double>();
}

bool AtenCall::flag(std::size_t place) const {
  return place < args->size() && (*args)[place].is_boolean() && (*args)[place].get<bool>();
}

double AtenCall::number(std::size_t place) const {
  return place < args->size() && (*args)[place].is_number() ? (*args)[place].get<double>() : 0;
}

bool AtenCall::flag_anywhere() const {
  return std::any_of(args->begin(), args->end(),
                     [](const Json& value) { return value.is_boolean() && value.get<bool>(); });
}

CapturedCalls::CapturedCalls(Json body) : body_(std::move(body)) {
  if (!body_.is_object()) wrong("an object was expected");
  const Json& tensors = list_of(body_, "tensors");
  if (tensors.size() > kMostTensors) wrong("too many tensors");
  for (const Json& tensor : tensors) tensors_.push_back(tensor_of(tensor));
  const auto compiled = body_.find("compiled");
  compiled_ = compiled != body_.end() && compiled->is_boolean() && compiled->get<bool>();
  const std::size_t forward = list_of(body_, "forward").size();
  std::size_t count = forward;
  for (const char* phase : {"backward", "update"}) count += list_of(body_, phase).size();
  calls_.reserve(count);  // calls point at each other
  for (const char* phase : {"forward", "backward", "update"}) {
    for (const Json& call : list_of(body_, phase)) {
      calls_.push_back(read(call, phase[0] == 'f', forward));
      calls_.back().update = phase[0] == 'u';
    }
  }
}

AtenCall CapturedCalls::read(const Json& json, bool forward, std::size_t forward_calls) const {
  if (!json.is_object()) wrong("a call is an object");
  const auto op = json.find("op");
  if (op == json.end() || !op->is_string()) wrong("a call has an op");
  AtenCall call;
  call.op = op->get<std::string>();
  if (call.op.rfind("aten::", 0) == 0) call.op.erase(0, 6);
  call.forward = forward;
  call.args = &list_of(json, "args");
  for (const Json& argument : *call.args) call.arguments.push_back(tensor(argument));
  std::set<const CallTensor*> seen;
  collect(*call.args, 0, seen, call.reads);
  const auto named = json.find("kwargs");
  if (named != json.end()) collect(*named, 0, seen, call.reads);
  for (const Json& made : list_of(json, "out")) {
    if (made.is_number_unsigned() && made.get<std::uint64_t>() < tensors_.size())
      call.makes.push_back(&tensors_[made.get<std::uint64_t>()]);
  }
  const auto cast = json.find("autocast");
  call.autocast = cast != json.end() && cast->is_string() && type_of(cast->get<std::string>()).bytes == 2;
  const auto of = json.find("of");
  if (of != json.end()) {
    if (forward || !of->is_number_unsigned() || of->get<std::uint64_t>() >= forward_calls)
      wrong("the gradient of a call that is not there");
    call.gradient_of = &calls_[of->get<std::uint64_t>()];
  }
  return call;
}

const CallTensor* CapturedCalls::tensor(const Json& value) const {
  if (!value.is_object()) return nullptr;
  const auto number = value.find("t");
  if (number == value.end() || !number->is_number_unsigned()) return nullptr;
  if (number->get<std::uint64_t>() >= tensors_.size()) wrong("a tensor that is not there");
  return &tensors_[number->get<std::uint64_t>()];
}

void CapturedCalls::collect(const Json& value, int depth, std::set<const CallTensor*>& seen,
                            std::vector<const CallTensor*>& found) const {
  if (depth > kMostNesting) wrong("lists within lists within lists");
  if (const CallTensor* one = tensor(value)) {
    if (seen.insert(one).second) found.push_back(one);
    return;
  }
  if (!value.is_structured()) return;
  for (const Json& item : value) collect(item, depth + 1, seen, found);
}

}  // namespace ampere
