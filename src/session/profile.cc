#include "session/profile.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "estimate/estimate.h"
#include "model/relative.h"
#include "profile/device_run.h"
#include "session/access.h"
#include "session/estimate.h"
#include "session/refine.h"

namespace ampere {
namespace {

void require(bool good, const char* message) {
  if (!good) throw bad_input(message);
}

constexpr double kMostMinutes = 24 * 60;

// 0 stands for what suits the device.
bool within(double value, double low, double high) { return value == 0 || (value >= low && value <= high); }

}  // namespace

void check(const ProfilingOptions& o) {
  require(within(o.points_1d, 2, 1000), "points over one channel number must be 2 to 1000");
  require(within(o.points_2d, 4, 1000), "points over two channel numbers must be 4 to 1000");
  require(within(o.energy_points_1d, 1, 1000) && within(o.energy_points_2d, 1, 1000),
          "points with energy must be 1 to 1000");
  require(within(o.target_deviation, 0.001, 1), "the deviation to reach must be 0.001 to 1");
  require(within(o.target_error, 1e-4, 0.5), "the error of a point must be 0.0001 to 0.5");
  require(o.guide == "time" || o.guide == "energy", "points are guided by \"time\" or \"energy\"");
  require(o.whole_networks >= 0 && o.whole_networks <= 1000, "whole networks must be 0 to 1000");
  require(o.budget_s >= 0.05 && o.budget_s <= 600, "the seconds of a point must be 0.05 to 600");
  for (const std::string& name : o.methods) find_method(name);
  const bool split_alone = o.methods.size() == 1 && find_method(o.methods.front()).takes_probes;
  require(!o.exact || (split_alone && o.target == 0),
          "--exact goes with --method split only, and without --target");
  require(o.target == 0 || split_alone, "--target goes with --method split only");
  require(o.target == 0 || (o.target > 0 && o.target < 1), "the target must lie between 0 and 1");
}

ProfilingSummary profile_as_asked(const Session& session, DeviceProfile& profile, const LoadedModel& model,
                                  const TrainingSetup& setup, const ProfilingOptions& asked,
                                  const OnStep& on_step) {
  ProfilingSummary summary;
  if (asked.exact) {
    summary.exact = probe_model(session, profile, model.network, setup, asked, true, on_step);
    return summary;
  }
  const ProfilingOptions options = asked.target > 0 ? sparser(asked) : asked;
  summary.methods = profile_model(session, profile, model, setup, options, options.methods, on_step);
  if (asked.target > 0)
    summary.refinement = refine(session, profile, model, setup, options, asked.target, on_step);
  return summary;
}

DeviceSummary profile_device(const Session& session, DeviceProfile& profile, double minutes,
                             const Recipe& recipe, const OnStep& on_step) {
  require(minutes > 0 && minutes <= kMostMinutes, "minutes must be above 0 and at most 1440, a day");
  remember_unit(session);
  measure_idle(session, profile);
  DeviceRunOptions options;
  options.how = probing(session, {1, recipe}, {}).how;
  options.seconds = 60 * minutes;
  options.progress = [&](const DeviceSummary& so_far, double left_s, const std::string& layer) {
    // How many there will be is told by the pace so far.
    const double pace = so_far.measured > 0 ? (options.seconds - left_s) / so_far.measured : 1;
    const int of = so_far.measured + std::max(1, static_cast<int>(left_s / std::max(pace, 0.05)));
    if (on_step) on_step({"profiling the device", so_far.measured, of, left_s, layer});
  };
  return measure_device(profile, session.measure(), options);
}

DeviceSummary profile_device(Device& device, double minutes, const Recipe& recipe, const OnStep& on_step) {
  const Session& session = DeviceAccess::session(device, "profiling");
  check(TrainingSetup{1, recipe});
  return profile_device(session, DeviceAccess::profile(device, recipe), minutes, recipe, on_step);
}

RelativeSummary learn_from(Store& store, const std::string& device, const std::string& from) {
  require(!from.empty(), "say whose profile it is: the path of a store, or the id of a device");
  const bool is_file = store_exists(from);
  std::optional<Store> opened;
  if (is_file) opened = Store::to_read(from);
  const TakenOver taken = take_over(store, device, opened ? *opened : store, is_file ? "" : from);
  return {taken.relative.device, taken.relative.sister, taken.points};
}

RelativeSummary learn_from(Device& device, const std::string& from) {
  Store& store = DeviceAccess::store(device);
  RelativeSummary done = learn_from(store, device.id(), from);
  DeviceAccess::forget_models(device);
  return done;
}

ProfilingSummary profile(Device& device, const Model& model, const TrainingSetup& setup,
                         const ProfilingOptions& options, const OnStep& on_step) {
  const Session& session = DeviceAccess::session(device, "profiling");
  check(setup);
  check(options);
  const LoadedModel& loaded = ModelAccess::loaded(model);
  parse_layers(loaded.network, setup.batch);  // bad shapes are told before anything is started
  return profile_as_asked(session, DeviceAccess::profile(device, setup.recipe), loaded, setup, options,
                          on_step);
}

}  // namespace ampere
