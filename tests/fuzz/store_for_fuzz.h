// Small stores with all that ampere keeps of a device, for the fuzzers.
#pragma once

#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "network/network_json.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"
#include "profile/whole_networks.h"

namespace ampere::fuzz {

constexpr std::int64_t kStoreBatch = 8;

// A convolution and a fully connected layer: as few surfaces as a network can have.
inline Network small_network(std::int64_t channels = 12) {
  return network_from_json({{"name", "small:c=" + std::to_string(channels)},
                            {"nodes",
                             {{{"op", "input"}, {"shape", {1, 8, 8}}},
                              {{"op", "conv2d"}, {"out_channels", channels}, {"kernel", 3}},
                              {{"op", "relu"}},
                              {{"op", "flatten"}},
                              {{"op", "linear"}, {"out_features", 5}}}}},
                           "small");
}

// Profiles the network on a device without noise: layers, whole networks, idle power and facts.
inline void make_store(const std::string& path, bool accelerator) {
  Store store(path);
  const std::string id = store.add_device(
      {{"name", "Synthetic"}, {"type", accelerator ? "cuda" : "cpu"}, {"meter", "synthetic"}});
  SyntheticDevice device;
  device.accelerator = accelerator;
  DeviceProfile profile(store, id, Recipe().word());
  if (accelerator) profile.set_idle_power_w(8, false);
  const Measure measure = [&](const MeasureRequest& request) { return device(request); };
  ProfileOptions options;
  options.how.mode = accelerator ? MeasureMode::kReplay : MeasureMode::kEager;
  options.where.guided.max_points_1d = 4;
  options.where.energy_points_1d = accelerator ? 3 : 0;
  run_profile(profile, find_method("split").plans(parse_layers(small_network(), kStoreBatch)), measure,
              options);
  WholeNetworkOptions whole;
  whole.replay.mode = MeasureMode::kReplay;
  WholeNetworks networks(profile, "split", {small_network(4), small_network(8)}, kStoreBatch, measure, whole);
  while (networks.measure_next()) {
  }
  networks.learn();
  store.put_fact(id, Recipe().word(), "profiling/split/small@b8",
                 {{"points", 9}, {"time_s", 4.5}, {"fitting_time_s", 0.1}});
  store.put_fact(id, "", "units", {"unit-1"});
}

}  // namespace ampere::fuzz
