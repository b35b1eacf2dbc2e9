#include "profiling.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/error.h"
#include "estimate/check.h"
#include "evaluate/evaluate.h"
#include "evaluate/sample.h"
#include "progress.h"

namespace ampere {
namespace {

// Not the seeds of any evaluation.
constexpr std::uint64_t kCheckSeed = 20250501;
constexpr std::uint64_t kTypicalSeed = 20250502;
constexpr int kTypicalNetworks = 64;

// The network itself and smaller ones of its family. What a network adds to its layers depends on its size,
// so they are chosen from small to large: five drawn at random may all be large.
std::vector<Network> networks_to_check(const Model& model, int count) {
  std::vector<Network> networks;
  if (count < 1) return networks;
  networks.push_back(model.network);
  if (!model.zoo) return networks;
  for (const ZooChoice& choice : networks_by_size(*model.zoo, count - 1, kCheckSeed))
    networks.push_back(build(choice));
  return networks;
}

// What networks of its family look like; none where it has no family.
std::vector<Network> typical_networks(const Model& model) {
  std::vector<Network> networks;
  if (!model.zoo) return networks;
  for (const ZooChoice& choice : sample_networks(*model.zoo, kTypicalNetworks, kTypicalSeed))
    networks.push_back(build(choice));
  return networks;
}

int or_else(int wanted, int usual) { return wanted > 0 ? wanted : usual; }

bool two_clocks(const Session& session) { return session.probe_mode() == MeasureMode::kReplay; }

// A window of a few ticks of the counter, once: half a second in all. More windows of one point would teach
// less than another point.
void take_a_quick_look(ProfileOptions& p, int ticks) {
  p.min_ticks = ticks;
  p.min_windows = 1;
  p.discard_first = false;
  p.warm_up_s = 0.05;
  p.target_error = 0.05;
}

// Unless the user says how exact a point is to be.
bool quick(const Session& session, const ProfilingOptions& options) {
  return two_clocks(session) && options.target_error == 0;
}

constexpr int kTicksOfALayer = 2;
constexpr int kTicksOfANetwork = 4;  // what a few whole networks teach counts for all
constexpr int kCheckPasses = 3;

}  // namespace

void add_profiling_options(CLI::App& verb, ProfilingOptions& o) {
  verb.add_option("--points-1d", o.points_1d, "Most points of a surface over one channel number")
      ->check(CLI::Range(2, 1000));
  verb.add_option("--points-2d", o.points_2d, "Most points of a surface over two")
      ->check(CLI::Range(4, 1000));
  verb.add_option("--energy-points-1d", o.energy_points_1d,
                  "Of those, most with energy, where energy is dear to measure")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--energy-points-2d", o.energy_points_2d, "The same of surfaces over two")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--deviation", o.target_deviation,
                  "A surface is known when its standard deviation is below this share")
      ->check(CLI::Range(0.001, 1.0));
  verb.add_option("--guide", o.guide, "What the next point is chosen by: variance of time or of energy")
      ->check(CLI::IsMember({"time", "energy"}));
  verb.add_option("--checks", o.checks, "Whole networks trained at the end, to learn how well layers add up")
      ->check(CLI::Range(0, 1000));
  verb.add_option("--point-seconds", o.budget_s, "Seconds of training per point")
      ->check(CLI::Range(0.05, 600.0));
  verb.add_option("--point-error", o.target_error, "Relative standard error at which a point is done")
      ->check(CLI::Range(1e-4, 0.5));
}

void measure_idle(const Session& session, DeviceProfile& profile) {
  if (!two_clocks(session) || profile.idle_power_w()) return;
  const Json idle = session.worker->idle(2, session.meter);
  if (idle.contains("power_w") && idle["power_w"].is_null()) {
    throw Error(
        ErrorKind::kNoMeter,
        "the meter " + session.meter + " stood still while the device was idle; choose another with --meter");
  }
  read_answer(*session.worker, [&] {
    const JsonReader r(idle, "idle");
    const double watts = r.number("power_w");
    if (!(watts >= 0)) throw bad_input("idle: \"power_w\" must not be negative");
    profile.set_idle_power_w(watts, r.boolean("modelled", false));
  });
}

ProfileOptions measuring_as_published(const Session& session, const ModelOptions& model,
                                      const ProfilingOptions& options, MeasureMode mode) {
  ProfileOptions p;
  p.mode = mode;
  p.guided.max_points_1d = or_else(options.points_1d, 8);
  p.guided.max_points_2d = or_else(options.points_2d, 18);
  p.guided.stop_deviation = options.target_deviation > 0 ? options.target_deviation : 0.05;
  p.guide = options.guide == "energy" ? Quantity::kEnergy : Quantity::kTime;
  p.recipe = model.recipe;
  p.meter = session.meter;
  p.target_error = options.target_error > 0 ? options.target_error : 0.01;
  p.budget_s = options.budget_s;
  if (quick(session, options))
    take_a_quick_look(p, mode == MeasureMode::kReplay ? kTicksOfALayer : kTicksOfANetwork);
  return p;
}

ProfileOptions measuring(const Session& session, const ModelOptions& model, const ProfilingOptions& options) {
  ProfileOptions p = measuring_as_published(session, model, options, session.probe_mode());
  p.guided.spread_of_three = 2;
  if (!two_clocks(session)) {
    // Kernels work in blocks of channels, so even a line has steps that four points do not show.
    p.guided.max_points_1d = or_else(options.points_1d, 12);
    p.guided.max_points_2d = or_else(options.points_2d, 24);
    p.guided.min_points_1d = std::min(8, p.guided.max_points_1d);
    p.guided.min_points_2d = std::min(14, p.guided.max_points_2d);
    return p;
  }
  p.sparse_energy = true;
  p.guide = Quantity::kTime;
  p.guided.max_points_1d = or_else(options.points_1d, 48);
  p.guided.max_points_2d = or_else(options.points_2d, 64);
  p.guided.stop_deviation = options.target_deviation > 0 ? options.target_deviation : 0.02;
  // Times are cheap, and a line of points may look smooth where kernels like multiples of 16.
  p.guided.min_points_1d = p.guided.max_points_1d;
  p.guided.min_points_2d = std::min(32, p.guided.max_points_2d);
  p.guided.jump_points_1d = 8;
  p.guided.jump_points_2d = 16;
  p.guided_energy = p.guided;
  p.guided_energy.min_points_1d = 6;
  p.guided_energy.min_points_2d = 14;
  p.guided_energy.all_corners = false;  // power depends little on them, and networks are rarely there
  p.guided_energy.max_points_1d = or_else(options.energy_points_1d, 8);
  p.guided_energy.max_points_2d = or_else(options.energy_points_2d, 20);
  return p;
}

ProfileOptions measuring_whole(const Session& session, const ModelOptions& model,
                               const ProfilingOptions& options, MeasureMode mode) {
  ProfileOptions p = measuring_as_published(session, model, options, mode);
  if (quick(session, options)) take_a_quick_look(p, kTicksOfANetwork);
  if (two_clocks(session)) return p;
  p.window_s = 2 * p.window_s;
  p.budget_s = 2 * p.budget_s;
  p.target_error = p.target_error / 2;
  p.min_windows = 7;
  return p;
}

namespace {

CheckOptions checking(const Session& session, const ModelOptions& m, const ProfilingOptions& options) {
  CheckOptions c;
  c.eager = measuring_whole(session, m, options, MeasureMode::kEager);
  c.replay = c.eager;
  if (two_clocks(session)) {
    c.replay = measuring_whole(session, m, options, MeasureMode::kReplay);
    c.passes = kCheckPasses;
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
                           {{"time_s", result.all_seconds},
                            {"fitting_time_s", result.all_fitting_seconds},
                            {"points", result.all_points}});
}

MethodProfile profile_method(const Session& session, DeviceProfile& profile, const Model& model,
                             const ModelOptions& m, const ProfilingOptions& options, const Method& method,
                             bool quiet) {
  const std::vector<SurfacePlan> plans = method.plans(parse_layers(model.network, m.batch));
  remember_unit(session);
  Progress bar(fmt::format("profiling {}", method.name), quiet);
  const auto start = std::chrono::steady_clock::now();
  const bool ours = method.learns_composition;
  if (!method.tells_eager && !two_clocks(session))
    throw bad_input(std::string("a CPU has nothing to replay; leave the method ") + method.name + " away");
  const MeasureMode as_told = method.tells_replay ? MeasureMode::kReplay : MeasureMode::kEager;
  ProfileOptions p =
      ours ? measuring(session, m, options) : measuring_as_published(session, m, options, as_told);
  if (ours) measure_idle(session, profile);
  // The published method starts from the lowest and the highest channels only.
  if (std::string(method.name).rfind("paper", 0) == 0) p.guided.all_corners = false;
  const std::vector<Network> networks = networks_to_check(model, ours ? options.checks : 0);
  if (p.sparse_energy) {
    for (const Network& network : networks) {
      for (Layer& layer : parse_layers(network, m.batch)) p.layers.push_back(std::move(layer));
    }
    for (const Network& network : typical_networks(model)) {
      for (Layer& layer : parse_layers(network, m.batch)) p.typical.push_back(std::move(layer));
    }
  }
  CompositionCheck check(profile, method, networks, m.batch, session.measure(),
                         checking(session, m, options));
  p.progress = [&](const ProfileProgress& now) {
    const int kind = std::min(now.surfaces_done + 1, now.surfaces);
    bar.show(now.points, now.points_expected, now.seconds_left,
             "kind " + std::to_string(kind) + "/" + std::to_string(now.surfaces) + " " + now.surface);
  };
  if (two_clocks(session)) {
    const int each = check.trainings() / (static_cast<int>(plans.size()) + 1);
    p.between_surfaces = [&check, each] {
      for (int i = 0; i < each && check.measure_next(); ++i) {
      }
    };
  }
  MethodProfile result{method.name, run_profile(profile, plans, session.measure(), p), 0, 0, 0};
  Progress whole(fmt::format("profiling {}", method.name), quiet);
  while (check.measure_next()) whole.show(check.trainings_done(), check.trainings(), "whole networks");
  whole.clear();
  check.learn();
  result.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  remember_effort(profile, family_of(model.network, m.batch), check.trainings_measured(), result);
  return result;
}

}  // namespace

std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile, const Model& model,
                                         const ModelOptions& m, const ProfilingOptions& options,
                                         const std::vector<std::string>& names, bool quiet) {
  std::vector<MethodProfile> done;
  std::set<std::string> profiled;
  for (const std::string& name : names) {
    const Method& method = method_behind(name);
    if (!profiled.insert(method.name).second) continue;
    done.push_back(profile_method(session, profile, model, m, options, method, quiet));
  }
  return done;
}

}  // namespace ampere
