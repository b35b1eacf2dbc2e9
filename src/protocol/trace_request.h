// "Run this module of yours once and tell what it does": how TorchScript files become networks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

// What the module is given in one place: random numbers of this shape.
struct TraceInput {
  std::vector<std::int64_t> shape;  // of one sample
  bool integer = false;             // whole numbers, 0 and 1
  int batch_axis = 0;               // where the batch stands among the dimensions
};

struct TraceRequest {
  std::string path;  // on the worker's machine
  std::vector<TraceInput> inputs;
  std::int64_t batch = 2;
  double limit_s = 60;  // for loading and running it
};

Json to_json(const TraceRequest& request);
TraceRequest trace_request_from_json(const Json& json);

}  // namespace ampere
