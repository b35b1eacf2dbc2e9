#include "session/profiling.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/error.h"
#include "evaluate/evaluate.h"
#include "evaluate/sample.h"
#include "meter/open.h"
#include "model/composition.h"
#include "profile/whole_networks.h"
#include "store/plausible.h"

namespace ampere {
namespace {

// Not the seeds of any evaluation.
constexpr std::uint64_t kWholeSeed = 20250501;
constexpr std::uint64_t kTypicalSeed = 20250502;
constexpr int kTypicalNetworks = 64;

// The network itself and smaller ones of its family. What a network adds to its layers depends on its size,
// so they are chosen from small to large: five drawn at random may all be large.
std::vector<Network> networks_to_train(const LoadedModel& model, int count) {
  std::vector<Network> networks;
  if (count < 1) return networks;
  networks.push_back(model.network);
  if (!model.zoo) return networks;
  for (const ZooChoice& choice : networks_by_size(*model.zoo, count - 1, kWholeSeed))
    networks.push_back(build(choice));
  return networks;
}

// What networks of its family look like; none where it has no family.
std::vector<Network> typical_networks(const LoadedModel& model) {
  std::vector<Network> networks;
  if (!model.zoo) return networks;
  for (const ZooChoice& choice : sample_networks(*model.zoo, kTypicalNetworks, kTypicalSeed))
    networks.push_back(build(choice));
  return networks;
}

int or_else(int wanted, int usual) { return wanted > 0 ? wanted : usual; }

// A window of a few ticks of the counter, once: half a second in all. More windows of one point would teach
// less than another point.
void take_a_quick_look(MeasureOptions& p, int ticks) {
  p.min_ticks = ticks;
  p.min_windows = 1;
  p.discard_first = false;
  p.warm_up_s = 0.05;
  p.target_error = 0.05;
}

// Unless the user says how exact a point is to be.
bool quick(const Session& session, const ProfilingOptions& options) {
  return session.two_clocks() && options.target_error == 0;
}

constexpr int kTicksOfALayer = 2;
constexpr int kTicksOfANetwork = 4;  // what a few whole networks teach counts for all
constexpr int kWholePasses = 3;

}  // namespace

void measure_idle(const Session& session, DeviceProfile& profile) {
  if (!session.two_clocks() || profile.idle_power_w()) return;
  const Json idle = session.worker->idle(2, session.meter);
  if (idle.contains("power_w") && idle["power_w"].is_null()) {
    throw Error(
        ErrorKind::kNoMeter,
        "the meter " + session.meter + " stood still while the device was idle; choose another with --meter");
  }
  read_answer(*session.worker, [&] {
    const JsonReader r(idle, "idle");
    r.number("power_w");  // must be there
    const double watts = r.number_between("power_w", 0, 0, kMostIdleWatts);
    const std::string meter = r.text("meter", "");
    if (!meter.empty() && !same_meter(session.meter, meter))
      throw bad_input("idle: it read the meter " + meter + " where " + session.meter + " was asked for");
    profile.set_idle_power_w(watts, r.boolean("modelled", false));
  });
}

ProfileOptions profiling_as_published(const Session& session, const TrainingSetup& setup,
                                      const ProfilingOptions& options, MeasureMode mode) {
  ProfileOptions p;
  p.where.guided.max_points_1d = or_else(options.points_1d, 8);
  p.where.guided.max_points_2d = or_else(options.points_2d, 18);
  p.where.guided.stop_deviation = options.target_deviation > 0 ? options.target_deviation : 0.05;
  p.where.guide = options.guide == "energy" ? Quantity::kEnergy : Quantity::kTime;
  p.how.mode = mode;
  p.how.recipe = setup.recipe;
  p.how.meter = session.meter;
  p.how.target_error = options.target_error > 0 ? options.target_error : 0.01;
  p.how.budget_s = options.budget_s;
  if (quick(session, options))
    take_a_quick_look(p.how, mode == MeasureMode::kReplay ? kTicksOfALayer : kTicksOfANetwork);
  return p;
}

ProfileOptions profiling(const Session& session, const TrainingSetup& setup,
                         const ProfilingOptions& options) {
  ProfileOptions p = profiling_as_published(session, setup, options, session.profiling_mode());
  PlaceOptions& where = p.where;
  where.guided.spread_of_three = 2;
  if (!session.two_clocks()) {
    // Kernels work in blocks of channels, so even a line has steps that four points do not show.
    where.guided.max_points_1d = or_else(options.points_1d, 12);
    where.guided.max_points_2d = or_else(options.points_2d, 24);
    where.guided.min_points_1d = std::min(8, where.guided.max_points_1d);
    where.guided.min_points_2d = std::min(14, where.guided.max_points_2d);
    return p;
  }
  where.guide = Quantity::kTime;
  where.guided.max_points_1d = or_else(options.points_1d, 48);
  where.guided.max_points_2d = or_else(options.points_2d, 64);
  where.guided.stop_deviation = options.target_deviation > 0 ? options.target_deviation : 0.02;
  // Times are cheap, and a line of points may look smooth where kernels like multiples of 16.
  where.guided.min_points_1d = where.guided.max_points_1d;
  where.guided.min_points_2d = std::min(32, where.guided.max_points_2d);
  where.guided.jump_points_1d = 8;
  where.guided.jump_points_2d = 16;
  if (!session.keeps_power || options.energy_points_1d > 0)
    where.energy_points_1d = or_else(options.energy_points_1d, 8);
  if (!session.keeps_power || options.energy_points_2d > 0)
    where.energy_points_2d = or_else(options.energy_points_2d, 20);
  return p;
}

ProbeOptions probing(const Session& session, const TrainingSetup& setup, const ProfilingOptions& options) {
  const ProfileOptions p = profiling(session, setup, options);
  ProbeOptions probe;
  probe.how = p.how;
  return probe;
}

MeasureOptions measuring_whole(const Session& session, const TrainingSetup& setup,
                               const ProfilingOptions& options, MeasureMode mode) {
  MeasureOptions how = profiling_as_published(session, setup, options, mode).how;
  if (quick(session, options)) take_a_quick_look(how, kTicksOfANetwork);
  if (session.two_clocks()) return how;
  how.window_s = 2 * how.window_s;
  how.budget_s = 2 * how.budget_s;
  how.target_error = how.target_error / 2;
  how.min_windows = 7;
  return how;
}

namespace {

WholeNetworkOptions training_whole(const Session& session, const TrainingSetup& setup,
                                   const ProfilingOptions& options) {
  WholeNetworkOptions c;
  c.eager = measuring_whole(session, setup, options, MeasureMode::kEager);
  c.replay = c.eager;
  if (session.two_clocks()) {
    c.replay = measuring_whole(session, setup, options, MeasureMode::kReplay);
    c.passes = kWholePasses;
  }
  return c;
}

// A run that found everything measured says nothing of what that took.
void remember_effort(DeviceProfile& profile, const std::string& family, int trainings,
                     MethodProfile& result) {
  const std::string name = "profiling/" + result.method + "/" + family;
  if (const auto earlier = profile.store().fact(profile.device(), profile.recipe(), name)) {
    const JsonReader r(*earlier, name);
    result.all_seconds = r.number("time_s");
    result.all_fitting_seconds = r.number("fitting_time_s");
    result.all_points = static_cast<int>(r.integer("points"));
  }
  if (result.summary.measured == 0 && trainings == 0 && result.all_points > 0) return;
  result.all_seconds += result.summary.seconds;
  result.all_fitting_seconds += result.summary.fitting_seconds;
  result.all_points += result.summary.measured;
  profile.store().put_fact(profile.device(), profile.recipe(), name,
                           {{"method", result.method},
                            {"family", family},
                            {"time_s", result.all_seconds},
                            {"fitting_time_s", result.all_fitting_seconds},
                            {"points", result.all_points}});
}

MethodProfile profile_method(const Session& session, DeviceProfile& profile, const LoadedModel& model,
                             const TrainingSetup& setup, const ProfilingOptions& options,
                             const Method& method, const OnStep& on_step) {
  const std::vector<SurfacePlan> plans = method.plans(parse_layers(model.network, setup.batch));
  remember_unit(session);
  const std::string task = std::string("profiling ") + method.name;
  const auto report = [&](const Step& step) {
    if (on_step) on_step(step);
  };
  const auto start = std::chrono::steady_clock::now();
  const bool ours = method.learns_composition;
  if (!method.tells_eager && !session.two_clocks())
    throw bad_input(std::string("a CPU has nothing to replay; leave the method ") + method.name + " away");
  const MeasureMode as_told = method.tells_replay ? MeasureMode::kReplay : MeasureMode::kEager;
  ProfileOptions p =
      ours ? profiling(session, setup, options) : profiling_as_published(session, setup, options, as_told);
  if (ours) measure_idle(session, profile);
  // The published method starts from the lowest and the highest channels only.
  if (method.subtracts) p.where.guided.all_corners = false;
  const std::vector<Network> networks = networks_to_train(model, ours ? options.whole_networks : 0);
  if (session.two_clocks()) {
    for (const Network& network : networks) {
      for (Layer& layer : parse_layers(network, setup.batch)) p.where.layers.push_back(std::move(layer));
    }
    for (const Network& network : typical_networks(model)) {
      for (Layer& layer : parse_layers(network, setup.batch)) p.where.typical.push_back(std::move(layer));
    }
  }
  WholeNetworks whole(profile, method.name, networks, setup.batch, session.measure(),
                      training_whole(session, setup, options));
  p.progress = [&](const ProfileProgress& now) {
    const int kind = std::min(now.surfaces_done + 1, now.surfaces);
    report({task, now.points, now.points_expected, now.seconds_left,
            "kind " + std::to_string(kind) + "/" + std::to_string(now.surfaces) + " " + now.surface});
  };
  if (session.two_clocks()) {
    const int each = whole.trainings() / (static_cast<int>(plans.size()) + 1);
    p.between_surfaces = [&whole, each] {
      for (int i = 0; i < each && whole.measure_next(); ++i) {
      }
    };
  }
  MethodProfile result{method.name, run_profile(profile, plans, session.measure(), p), 0, 0, 0};
  while (whole.measure_next())
    report({task + ", whole networks", whole.trainings_done(), whole.trainings(), std::nullopt, ""});
  if (ours) whole.learn();
  result.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  remember_effort(profile, family_of(model.network, setup.batch), whole.trainings_measured(), result);
  return result;
}

}  // namespace

bool is_modelled(const DeviceProfile& profile, const LoadedModel& model, const TrainingSetup& setup,
                 const std::vector<std::string>& names) {
  const std::vector<Layer> layers = parse_layers(model.network, setup.batch);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return models_for(profile, method_behind(name), layers).modelled();
  });
}

std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile,
                                         const LoadedModel& model, const TrainingSetup& setup,
                                         const ProfilingOptions& options,
                                         const std::vector<std::string>& names, const OnStep& on_step) {
  std::vector<MethodProfile> done;
  std::set<std::string> profiled;
  for (const std::string& name : names) {
    const Method& method = method_behind(name);
    if (!profiled.insert(method.name).second) continue;
    done.push_back(profile_method(session, profile, model, setup, options, method, on_step));
  }
  return done;
}

}  // namespace ampere
