// Training a few whole networks after profiling, to learn how well layers add up on this device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "profile/run.h"

namespace ampere {

// The store's key of a whole network: "whole/lenet5:c1=3@b10".
std::string whole_key(const std::string& prefix, const Network& network, std::int64_t batch);

// The measurement of a whole network, from the store or made now and kept there.
Measurement whole_measurement(DeviceProfile& profile, const std::string& key, const Network& network,
                              std::int64_t batch, const Measure& measure, const ProfileOptions& options);

// Measures those networks that were not yet, compares them with their estimates and keeps what was
// learned. All networks must be of one family. `done` is called after each.
void check_composition(DeviceProfile& profile, const Method& method, const std::vector<Network>& networks,
                       std::int64_t batch, const Measure& measure, const ProfileOptions& options,
                       const std::function<void(int done)>& done);

}  // namespace ampere
