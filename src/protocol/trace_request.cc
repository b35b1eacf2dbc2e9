#include "protocol/trace_request.h"

#include "base/error.h"
#include "network/op.h"

namespace ampere {
namespace {

constexpr std::size_t kMaxInputs = 16;
constexpr std::size_t kMaxDims = 8;
constexpr std::size_t kMaxPath = 4096;
constexpr double kLongestTrace = 3600;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

TraceInput input_from(const Json& json, const std::string& where, std::int64_t batch) {
  const JsonReader r(json, where);
  r.only({"shape", "dtype", "batch_axis"});
  TraceInput input;
  input.shape = r.integers("shape");
  const std::string dtype = r.text("dtype", "float");
  if (dtype != "float" && dtype != "int") throw bad_input(where + ": \"dtype\" must be float or int");
  input.integer = dtype == "int";
  if (input.shape.empty() || input.shape.size() > kMaxDims)
    throw bad_input(where + ": \"shape\" must have 1 to 8 numbers");
  std::int64_t elements = batch;
  for (std::int64_t d : input.shape) {
    if (d < 1 || d > kMaxWidth || __builtin_mul_overflow(elements, d, &elements) || elements > kMaxElements)
      throw bad_input(where + ": \"shape\" must have numbers above 0 and fewer than 2^31 elements in all");
  }
  const std::int64_t axis = r.integer("batch_axis", 0);
  if (axis < 0 || axis > static_cast<std::int64_t>(input.shape.size()))
    throw bad_input(where + ": \"batch_axis\" must be between 0 and " + std::to_string(input.shape.size()));
  input.batch_axis = static_cast<int>(axis);
  return input;
}

}  // namespace

Json to_json(const TraceRequest& request) {
  Json inputs = Json::array();
  for (const TraceInput& input : request.inputs) {
    Json j = {{"shape", input.shape}, {"dtype", input.integer ? "int" : "float"}};
    if (input.batch_axis != 0) j["batch_axis"] = input.batch_axis;
    inputs.push_back(std::move(j));
  }
  return {{"path", request.path},
          {"inputs", std::move(inputs)},
          {"batch", request.batch},
          {"limit_s", request.limit_s}};
}

TraceRequest trace_request_from_json(const Json& json) {
  const JsonReader r(json, "trace");
  r.only({"path", "inputs", "batch", "limit_s"});
  TraceRequest request;
  request.path = r.text("path");
  if (request.path.empty() || request.path.size() > kMaxPath ||
      request.path.find('\0') != std::string::npos) {
    throw bad_input("trace: \"path\" must be the path of a file");
  }
  request.batch = r.integer("batch", request.batch);
  if (request.batch < 1 || request.batch > kMaxWidth)
    throw bad_input("trace: \"batch\" must be between 1 and " + std::to_string(kMaxWidth));
  request.limit_s = r.number("limit_s", request.limit_s);
  if (!(request.limit_s > 0 && request.limit_s <= kLongestTrace))
    throw bad_input("trace: \"limit_s\" must be above 0 and at most 3600");
  const Json& inputs = r.array("inputs");
  if (inputs.size() > kMaxInputs) throw bad_input("trace: \"inputs\" must be at most 16");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    request.inputs.push_back(input_from(inputs[i], "trace: input " + std::to_string(i), request.batch));
  }
  return request;
}

}  // namespace ampere
