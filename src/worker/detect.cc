#include "worker/detect.h"

#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>

#include "meter/open.h"
#include "worker/host.h"
#include "worker/meter_in_use.h"
#include "worker/recipe_settings.h"

namespace ampere {
namespace {

// How many threads share a matrix product, whatever was asked for: CPU time of all threads over that
// of this one, which other programs on the same cores do not change.
long threads_that_run(int asked) {
  set_threads(asked);
  const torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::rand({768, 768});
  torch::mm(a, a);  // starts the threads
  const CpuSeconds start = cpu_seconds();
  CpuSeconds end = start;
  while (end.thread - start.thread < 0.1) {
    torch::mm(a, a);
    end = cpu_seconds();
  }
  return std::max(1L, std::lround((end.process - start.process) / (end.thread - start.thread)));
}

Json to_json(const MeterStatus& meter) {
  return {
      {"name", meter.info.name},      {"scope", meter.info.scope}, {"modelled", meter.info.modelled},
      {"available", meter.available}, {"why", meter.why},          {"description", meter.info.description}};
}

}  // namespace

std::string framework_name() { return std::string("libtorch ") + TORCH_VERSION; }

Json detect(Device& device, int threads, const std::string& default_meter) {
  const DeviceFacts facts = device.facts();
  Json meters = Json::array();
  for (const MeterStatus& meter : list_meters()) meters.push_back(to_json(meter));
  return {{"device",
           {{"name", facts.name},
            {"type", facts.type},
            {"cores", facts.cores},
            {"memory_bytes", facts.memory_bytes},
            {"driver", facts.driver},
            {"framework", framework_name()},
            {"blas", loaded_blas()},
            {"threads", threads_that_run(threads)},
            {"allocator", loaded_allocator()}}},
          {"meters", std::move(meters)},
          {"default_meter", default_meter.empty() ? suitable_meter(device) : default_meter}};
}

}  // namespace ampere
