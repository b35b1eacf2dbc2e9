#include "session/memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/quantity_text.h"
#include "measure/recipe.h"
#include "model/data_sheet.h"
#include "model/device_profile.h"
#include "model/layer_work.h"
#include "session/access.h"
#include "work/step_memory.h"

namespace ampere {
namespace {

// On a processor networks share it with the system and the framework's own code; a driver keeps some of an
// accelerator's.
constexpr double kTakenOfHost = 400e6, kTakenOfAccelerator = 600e6;
constexpr double kShareForNetworks = 0.95;

Json fingerprint_of(const MemoryPlace& place) {
  return {{"type", place.type}, {"framework", place.framework}, {"name", place.name}};
}

}  // namespace

MemoryPlace memory_place_of(const Json& fingerprint) {
  MemoryPlace place;
  const auto take = [&](const char* key, std::string& to) {
    const auto found = fingerprint.is_object() ? fingerprint.find(key) : fingerprint.end();
    if (found != fingerprint.end() && found->is_string()) to = found->get<std::string>();
  };
  take("type", place.type);
  take("framework", place.framework);
  take("name", place.name);
  return place;
}

MemoryEstimate network_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place) {
  if (place.type != "cpu" && place.type != "cuda")
    throw bad_input("memory is told for a cpu or a cuda device, not for \"" + place.type + "\"");
  const Json fingerprint = fingerprint_of(place);
  StepStyle style;
  style.calls = call_style_of(fingerprint);
  style.half = setup.recipe.precision == "bf16";
  style.optimizer = setup.recipe.optimizer;
  style.loss = true;
  const StepMemory m = step_memory(network, setup.batch, style, allocator_style_of(fingerprint));
  return {m.weights, m.gradients, m.optimizer, m.data, m.saved, m.libraries, m.temporaries, m.peak, m.rough};
}

std::int64_t largest_batch(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                           double bytes, std::int64_t most) {
  if (const auto captured = captured_batch(network)) {
    const MemoryEstimate m = network_memory(network, setup, place);
    const double fixed = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.libraries_bytes;
    const double each = std::max(1.0, m.peak_bytes - fixed) / static_cast<double>(*captured);
    const double fit = (bytes - fixed) / each;
    return fit < 1 ? 0 : static_cast<std::int64_t>(std::min(fit, static_cast<double>(most)));
  }
  const auto fits = [&](std::int64_t batch) {
    TrainingSetup with = setup;
    with.batch = batch;
    try {
      return network_memory(network, with, place).peak_bytes <= bytes;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kBadInput || batch == 1) throw;
      return false;  // tensors larger than any memory
    }
  };
  std::int64_t low = 0, high = 1;
  while (high <= most && fits(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

double usable_memory_bytes(double bytes, const std::string& type) {
  return std::max(0.0, kShareForNetworks * bytes - (type == "cuda" ? kTakenOfAccelerator : kTakenOfHost));
}

void remember_memory(const Session& session) {
  const auto bytes = session.device.find("memory_bytes");
  if (!session.store || bytes == session.device.end() || !bytes->is_number() || bytes->get<double>() <= 0)
    return;
  const Json known = {{"bytes", bytes->get<double>()}};
  const auto before = session.store->fact(session.device_id, "", kMemoryFact);
  if (!before || *before != known) session.store->put_fact(session.device_id, "", kMemoryFact, known);
}

std::optional<double> stored_memory(const Store& store, const std::string& device) {
  if (device.empty()) return std::nullopt;
  const auto fact = store.fact(device, "", kMemoryFact);
  if (fact && fact->is_object() && fact->contains("bytes") && fact->at("bytes").is_number())
    return fact->at("bytes").get<double>();
  // A profile that others made may not say: then by what is sold under that name.
  const auto known = store.device(device);
  const auto sheet = known ? data_sheet_of_device(memory_place_of(known->fingerprint).name) : std::nullopt;
  return sheet && sheet->memory_bytes > 0 ? std::optional(sheet->memory_bytes) : std::nullopt;
}

MemoryVerdict judge_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                           std::optional<double> memory_bytes) {
  MemoryVerdict v;
  v.needed = network_memory(network, setup, place);
  v.memory_bytes = memory_bytes;
  if (!memory_bytes) return v;
  const double room = usable_memory_bytes(*memory_bytes, place.type);
  v.fits = v.needed.peak_bytes <= room;
  if (!v.fits) v.largest_batch = largest_batch(network, setup, place, room, setup.batch);
  return v;
}

void require_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                    double memory_bytes) {
  const double peak = network_memory(network, setup, place).peak_bytes;
  if (peak <= usable_memory_bytes(memory_bytes, place.type)) return;
  throw Error(ErrorKind::kOutOfMemory,
              refusal_text(judge_memory(network, setup, place, memory_bytes), network.name(), setup.batch));
}

std::string refusal_text(const MemoryVerdict& v, const std::string& network, std::int64_t batch) {
  std::string text = network + " at batch " + std::to_string(batch) + " does not fit: a step takes " +
                     bytes_text(v.needed.peak_bytes) + ", and the device has " +
                     bytes_text(v.memory_bytes.value_or(0)) + " with the system and the framework in them; ";
  if (v.largest_batch > 0) return text + "batch " + std::to_string(v.largest_batch) + " would fit";
  return text + "not even a batch of 1 would; use fewer channels or a device with more memory";
}

MemoryEstimate estimate_memory(const Model& model, const TrainingSetup& setup, const MemoryPlace& place) {
  check(setup);
  return network_memory(ModelAccess::loaded(model).network, setup, place);
}

MemoryEstimate estimate_memory(const Device& device, const Model& model, const TrainingSetup& setup) {
  return estimate_memory(model, setup, memory_place_of(DeviceAccess::stored(device).fingerprint));
}

std::optional<double> device_memory_bytes(const Device& device) { return DeviceAccess::memory(device); }

std::int64_t largest_batch(const Model& model, const TrainingSetup& setup, const MemoryPlace& place,
                           double bytes, std::int64_t most) {
  check(setup);
  return largest_batch(ModelAccess::loaded(model).network, setup, place, bytes, most);
}

}  // namespace ampere
