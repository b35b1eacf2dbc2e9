// A store with everything a report shows of a device, measured on one without noise, for tests.
#pragma once

#include <filesystem>
#include <string>

#include "estimate/estimate.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"

namespace ampere {

struct ProfiledForTest {
  explicit ProfiledForTest(const std::string& name, const std::string& model = "lenet5",
                           const std::string& method = "split", bool accelerator = false)
      : path((std::filesystem::temp_directory_path() / ("ampere-report-" + name + ".db")).string()) {
    std::filesystem::remove(path);
    store.emplace(path);
    device.id = store->add_device({{"name", "Synthetic"}, {"type", "cpu"}, {"meter", "synthetic"}});
    device.fingerprint = store->devices().front().fingerprint;
    synthetic.accelerator = accelerator;
    const std::vector<Layer> layers = parse_layers(build(parse_zoo(model)), 8);
    DeviceProfile profile(*store, device.id, Recipe().word());
    ProfileOptions options;
    options.how.mode = accelerator ? MeasureMode::kReplay : MeasureMode::kEager;
    if (accelerator) options.where.energy_points_1d = options.where.energy_points_2d = 8;
    options.where.guided.all_corners = method != "paper";
    if (accelerator) profile.set_idle_power_w(8, false);
    run_profile(
        profile, find_method(method).plans(layers), [this](const MeasureRequest& r) { return synthetic(r); },
        options);
  }
  ~ProfiledForTest() {
    store.reset();
    std::filesystem::remove(path);
  }
  ProfiledForTest(const ProfiledForTest&) = delete;
  ProfiledForTest& operator=(const ProfiledForTest&) = delete;

  std::string path;
  SyntheticDevice synthetic;
  std::optional<Store> store;
  StoredDevice device;
};

}  // namespace ampere
