// Whether a network fits a device's memory.
#pragma once

#include <optional>
#include <string>

#include "ampere/memory.h"
#include "base/json.h"
#include "network/network.h"
#include "store/store.h"

namespace ampere {

struct Session;

// What a fingerprint says of where networks are trained.
MemoryPlace memory_place_of(const Json& fingerprint);

MemoryEstimate network_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place);
std::int64_t largest_batch(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                           double bytes, std::int64_t most);

// Kept in the store beside the device's points, so that estimates know it where the device is not.
void remember_memory(const Session& session);
std::optional<double> stored_memory(const Store& store, const std::string& device);

// What is known before it is tried.
struct MemoryVerdict {
  MemoryEstimate needed;
  std::optional<double> memory_bytes;  // of the device, or as it was given; absent: nobody told
  bool fits = true;                    // also where nobody told
  std::int64_t largest_batch = 0;      // that would fit; 0: none. Where it does not
};
MemoryVerdict judge_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                           std::optional<double> memory_bytes);
// Throws Error{kOutOfMemory} for what a device would be killed by, so that it is never asked to try.
void require_memory(const Network& network, const TrainingSetup& setup, const MemoryPlace& place,
                    double memory_bytes);
// One sentence: what it takes, what there is, and which batch would fit.
std::string refusal_text(const MemoryVerdict& verdict, const std::string& network, std::int64_t batch);

}  // namespace ampere
