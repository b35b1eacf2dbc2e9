#include "profiling.h"

#include <algorithm>
#include <chrono>

#include "estimate/check.h"
#include "evaluate/sample.h"
#include "progress.h"

namespace ampere {
namespace {

constexpr std::uint64_t kCheckSeed = 20250501;  // not the seed of any evaluation

// The network itself and random smaller ones of its family.
std::vector<Network> networks_to_check(const Model& model, int count) {
  std::vector<Network> networks;
  if (count < 1) return networks;
  networks.push_back(model.network);
  if (model.zoo) {
    for (const ZooChoice& choice : sample_networks(*model.zoo, count - 1, kCheckSeed))
      networks.push_back(build(choice));
  }
  return networks;
}

// Idle power matters where the device can wait for the host.
void measure_idle(const Session& session, DeviceProfile& profile) {
  if (session.probe_mode() != MeasureMode::kReplay || profile.idle_power_w()) return;
  const Json idle = session.worker->idle(2, session.meter);
  JsonReader r(idle, "idle");
  profile.set_idle_power_w(r.number("power_w"), r.boolean("modelled", false));
}

}  // namespace

void add_profiling_options(CLI::App& verb, ProfilingOptions& o) {
  verb.add_option("--points-1d", o.points_1d, "Most points of a surface over one channel number")
      ->check(CLI::Range(2, 1000));
  verb.add_option("--points-2d", o.points_2d, "Most points of a surface over two")
      ->check(CLI::Range(4, 1000));
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

ProfileOptions measuring(const Session& session, const ModelOptions& model, const ProfilingOptions& options) {
  ProfileOptions p;
  p.guided.max_points_1d = options.points_1d;
  p.guided.max_points_2d = options.points_2d;
  p.guided.stop_deviation = options.target_deviation;
  p.guide = options.guide == "energy" ? Quantity::kEnergy : Quantity::kTime;
  p.recipe = model.recipe;
  p.meter = session.meter;
  p.target_error = options.target_error;
  p.budget_s = options.budget_s;
  return p;
}

ProfileOptions measuring_whole(const Session& session, const ModelOptions& model,
                               const ProfilingOptions& options) {
  ProfileOptions p = measuring(session, model, options);
  p.mode = MeasureMode::kEager;
  p.window_s = 2 * p.window_s;
  p.budget_s = 2 * p.budget_s;
  p.target_error = p.target_error / 2;
  p.min_windows = 7;
  return p;
}

std::vector<MethodProfile> profile_model(const Session& session, DeviceProfile& profile, const Model& model,
                                         const ModelOptions& m, const ProfilingOptions& options,
                                         const std::vector<std::string>& names, bool quiet) {
  const std::vector<Layer> layers = parse_layers(model.network, m.batch);
  std::vector<MethodProfile> done;
  for (const std::string& name : names) {
    const Method& method = find_method(name);
    Progress bar("profiling " + name, quiet);
    ProfileOptions p = measuring(session, m, options);
    if (name == "split") {
      p.mode = session.probe_mode();
      measure_idle(session, profile);
    } else {
      p.guided.all_corners = false;
    }
    p.progress = [&](const ProfileProgress& now) {
      const int kind = std::min(now.surfaces_done + 1, now.surfaces);
      bar.show(now.points, now.points_expected, now.seconds_left,
               "kind " + std::to_string(kind) + "/" + std::to_string(now.surfaces) + " " + now.surface);
    };
    MethodProfile result{name, run_profile(profile, method.plans(layers), session.measure(), p)};
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Network> checks =
        networks_to_check(model, method.learns_composition ? options.checks : 0);
    check_composition(profile, method, checks, m.batch, session.measure(),
                      measuring_whole(session, m, options),
                      [&](int n) { bar.show(n, static_cast<int>(checks.size()), 0, "whole networks"); });
    result.summary.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    done.push_back(std::move(result));
  }
  return done;
}

}  // namespace ampere
