#include "worker/detect.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "meter/cpu_cores.h"
#include "meter/open.h"
#include "meter/sysfs.h"
#include "worker/host.h"
#include "worker/measure.h"
#include "worker/meter_in_use.h"

namespace ampere::worker {
namespace {

// How many threads share a matrix product, whatever was asked for: CPU time of all threads over that
// of this one, which other programs on the same cores do not change.
long threads_that_run(int asked, Device& device) {
  const std::function<void()> multiply = device.shared_work(asked);
  multiply();  // starts the threads
  const CpuSeconds start = cpu_seconds();
  CpuSeconds end = start;
  while (end.thread - start.thread < 0.1) {
    multiply();
    end = cpu_seconds();
  }
  return std::max(1L, std::lround((end.process - start.process) / (end.thread - start.thread)));
}

Json to_json(const MeterStatus& meter) {
  return {{"name", meter.info.name},
          {"scope", meter.info.scope},
          {"modelled", meter.info.modelled},
          {"available", meter.available},
          {"why", meter.why},
          {"description", meter.info.description},
          {"samples_s", meter.samples ? Json(meter.samples->value()) : Json(nullptr)}};
}

// A meter that fails while it is watched is no longer available, and says why.
void add_character(Json& meter, Device& device) {
  try {
    MeterInUse use = use_meter(meter["name"], device);
    if (!use.character) use.character = characterise(*use.meter, [] {});
    const MeterCharacter& c = *use.character;
    const IdlePower idle = measure_idle(1, device, use);
    meter["character"] = {{"moves", c.moves},
                          {"continuous", c.continuous},
                          {"tick_s", c.continuous || !c.moves ? Json(nullptr) : Json(c.tick.value())},
                          {"read_s", c.read_cost.value()},
                          {"resolution_j", c.moves ? Json(c.resolution.value()) : Json(nullptr)},
                          {"idle_power_w", idle.power_w ? number_or_null(*idle.power_w) : Json(nullptr)}};
  } catch (const Error& e) {
    meter["available"] = false;
    meter["why"] = e.what();
  }
}

}  // namespace

Json detect(Device& device, int threads, const std::string& default_meter, bool characterise) {
  const DeviceFacts facts = device.facts();
  Json meters = Json::array();
  for (const MeterStatus& meter : list_meters()) {
    meters.push_back(to_json(meter));
    if (characterise && meter.available) add_character(meters.back(), device);
  }
  const CpuCores cores = facts.type == "cpu" ? cpu_cores(sysfs_root(), allowed_cores()) : CpuCores{};
  return {{"device",
           {{"name", facts.name},
            {"type", facts.type},
            {"cores", facts.cores},
            {"core_kinds", cores.kinds},
            {"governor", cores.governor},
            {"memory_bytes", facts.memory_bytes},
            {"driver", facts.driver},
            {"unit", facts.unit},
            {"framework", device.framework()},
            {"blas", device.blas()},
            {"threads", threads_that_run(threads, device)},
            {"allocator", loaded_allocator()}}},
          {"meters", std::move(meters)},
          {"default_meter", default_meter.empty() ? suitable_meter(device) : default_meter}};
}

}  // namespace ampere::worker
