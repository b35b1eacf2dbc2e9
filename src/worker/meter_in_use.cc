#include "worker/meter_in_use.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "meter/open.h"

namespace ampere::worker {
namespace {

bool sees(const MeterInfo& meter, const Device& device) {
  if (device.is_cpu()) return meter.scope != "gpu";
  return meter.scope != "package" && meter.scope != "process";
}

}  // namespace

std::string suitable_meter(const Device& device) {
  if (const char* wanted = std::getenv("AMPERE_METER"); wanted && *wanted) return wanted;
  for (const MeterStatus& meter : list_meters()) {
    if (meter.available && sees(meter.info, device)) return meter.info.name;
  }
  return default_meter_name();
}

MeterInUse use_meter(const std::string& name, const Device& device) {
  MeterInUse use;
  use.meter = open_meter(name.empty() ? suitable_meter(device) : name);
  if (!use.meter->info().modelled) {
    auto wait = [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
    const MeterCharacter character = characterise(*use.meter, wait);
    if (character.moves) use.character = character;  // else it is watched again while work runs
  }
  return use;
}

}  // namespace ampere::worker
