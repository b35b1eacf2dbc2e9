#include "profile/run.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/error.h"
#include "network/network_json.h"
#include "profile/jumps.h"

namespace ampere {
namespace {

constexpr int kMostDeaths = 3;

// Difference of logarithms that is a jump: 28% from one place to its neighbour.
constexpr double kJump = 0.25;

Deviations deviations_of(const SurfaceModel& model) {
  return [&model](const std::vector<Channels>& places) { return model.relative_deviation(places); };
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Run {
 public:
  Run(DeviceProfile& profile, const std::vector<SurfacePlan>& plans, const Measure& measure,
      const ProfileOptions& options)
      : profile_(profile), plans_(plans), models_(profile, plans), measure_(measure), options_(options) {
    for (const Layer& layer : options.where.typical) {
      std::vector<Channels>& places = typical_[layer.key()];
      if (std::find(places.begin(), places.end(), layer.channels) == places.end())
        places.push_back(layer.channels);
    }
  }

  ProfileSummary run() {
    const double fitted_before = profile_.fitting_seconds();
    for (const SurfacePlan& plan : plans_) expected_ += still_expected(plan);
    const bool less_empty =
        std::any_of(plans_.begin(), plans_.end(), [](const SurfacePlan& p) { return p.less_empty; });
    if (less_empty && profile_.points(empty_surface().name).empty())
      measure_point(empty_surface(), {0, 0}, request_for(empty_iteration(), 1, options_.how));
    for (const SurfacePlan& plan : plans_) {
      run_surface(plan);
      ++done_;
    }
    report("");
    summary_.seconds = seconds_since(start_);
    summary_.fitting_seconds = profile_.fitting_seconds() - fitted_before;
    return summary_;
  }

 private:
  int limit_of(const SurfacePlan& plan) const {
    if (plan.kind.surface == Surface::kPoint) return 1;
    const int limit = plan.kind.surface == Surface::kInOut ? options_.where.guided.max_points_2d
                                                           : options_.where.guided.max_points_1d;
    const auto places = candidates(plan.kind.surface, plan.domain).size();
    return std::min(limit, static_cast<int>(places));
  }

  int still_expected(const SurfacePlan& plan) {
    return std::max(0, limit_of(plan) - static_cast<int>(places(plan.key).size()));
  }

  std::set<Channels> places(const std::string& key) {
    std::set<Channels> out;
    for (const StoredPoint& p : profile_.points(key)) out.insert(p.channels);
    return out;
  }

  void run_surface(const SurfacePlan& plan) {
    SurfaceSummary s{plan.key};
    s.reused = static_cast<int>(places(plan.key).size());
    summary_.reused += s.reused;
    std::set<Channels> refused;
    died_at_.reset();
    std::vector<Channels> asked_for = places_asked_for(plan);
    for (;;) {
      Choice choice;
      if (!asked_for.empty()) {
        choice.next.channels = asked_for.back();
      } else {
        choice = choose(plan, refused);
      }
      s.why = choice.next.why;
      s.deviation = choice.next.deviation;
      if (!choice.next.channels) break;
      const Channels channels = *choice.next.channels;
      try {
        measure_point(plan, channels, choice.energy);
        ++s.measured;
        deaths_ = 0;
        if (!asked_for.empty()) asked_for.pop_back();
      } catch (const Error& e) {
        const bool died = e.kind() == ErrorKind::kWorker;
        if (!died && e.kind() != ErrorKind::kOutOfMemory) throw;
        // A worker may die of anything, so the point is tried once more; what kills it twice is left
        // out. Several deaths in a row are not the points' fault.
        if (died && ++deaths_ >= kMostDeaths) throw;
        if (died && died_at_ != channels) {
          died_at_ = channels;
          continue;
        }
        refused.insert(channels);
        if (!asked_for.empty()) asked_for.pop_back();
        ++s.refused;
      }
    }
    finish(plan, s);
    if (options_.between_surfaces) options_.between_surfaces();
  }

  std::vector<Channels> places_asked_for(const SurfacePlan& plan) {
    std::set<Channels> wanted;
    for (const Layer& layer : options_.where.layers) {
      if (layer.key() == plan.layer_key) wanted.insert(layer.channels);
    }
    for (const Channels& known : places_with_energy(plan.key)) wanted.erase(known);
    return {wanted.begin(), wanted.end()};
  }

  // In the order of the networks.
  std::vector<Channels> typical_places(const SurfacePlan& plan) const {
    const auto known = typical_.find(plan.layer_key);
    return known == typical_.end() ? std::vector<Channels>{} : known->second;
  }

  struct Choice {
    NextPoint next;
    bool energy = true;
  };

  Choice choose(const SurfacePlan& plan, const std::set<Channels>& refused) {
    const Surface surface = plan.kind.surface;
    const std::set<Channels> timed = places(plan.key);
    const bool enough = timed.size() >= corner_count(surface, plan.domain, options_.where.guided) ||
                        (!timed.empty() && !refused.empty());
    const SurfaceModel* model = enough ? &models_.model(plan.key, options_.where.guide) : nullptr;
    NextPoint next =
        next_point(surface, plan.domain, timed, refused, model ? deviations_of(*model) : Deviations{},
                   options_.where.guided, typical_places(plan));
    if (!next.channels) next.channels = where_it_jumps(plan, timed, refused);
    return {next, metered_there(plan)};
  }

  // Where energies are few, the first points have them: those are the corners, and places spread evenly.
  bool metered_there(const SurfacePlan& plan) {
    const int most = plan.kind.surface == Surface::kInOut ? options_.where.energy_points_2d
                                                          : options_.where.energy_points_1d;
    return most == 0 || static_cast<int>(places_with_energy(plan.key).size()) < most;
  }

  std::optional<Channels> where_it_jumps(const SurfacePlan& plan, const std::set<Channels>& timed,
                                         const std::set<Channels>& refused) {
    const bool two = plan.kind.surface == Surface::kInOut;
    const GuidedOptions& g = options_.where.guided;
    if ((two ? g.jump_points_2d : g.jump_points_1d) == 0) return std::nullopt;
    const int limit = two ? g.max_points_2d + g.jump_points_2d : g.max_points_1d + g.jump_points_1d;
    if (static_cast<int>(timed.size()) >= limit) return std::nullopt;
    return within_step(models_.model(plan.key, Quantity::kTime), plan.kind.surface, plan.domain, refused,
                       kJump);
  }

  std::set<Channels> places_with_energy(const std::string& key) {
    std::set<Channels> out;
    for (const StoredPoint& p : profile_.points(key)) {
      if (p.measurement.energy_j) out.insert(p.channels);
    }
    return out;
  }

  void finish(const SurfacePlan& plan, const SurfaceSummary& s) {
    // Points this surface no longer needs come off the forecast.
    expected_ -= std::max(0, limit_of(plan) - s.reused - s.measured);
    if (profile_.points(plan.key).empty()) {
      throw Error(ErrorKind::kOutOfMemory,
                  "no point of " + plan.key + " fits the device's memory; use a smaller batch");
    }
    summary_.surfaces.push_back(s);
  }

  void measure_point(const SurfacePlan& plan, Channels channels, bool energy) {
    MeasureRequest request = request_for(plan.variant(channels), plan.kind.batch, options_.how);
    request.phase = plan.phase;
    measure_point(plan.surface, channels, energy ? std::move(request) : without_energy(std::move(request)));
  }

  void measure_point(const StoredSurface& surface, Channels channels, const MeasureRequest& request) {
    report(surface.name);
    const Measurement m = measure_as_asked(measure_, request);
    profile_.add_point(surface, channels, provenance(request), m);
    ++summary_.measured;
    if (!m.stable) ++summary_.unstable;
  }

  void report(const std::string& surface) {
    if (!options_.progress) return;
    const int left = std::max(0, expected_ - summary_.measured);
    const double pace =
        summary_.measured > 0 ? seconds_since(start_) / summary_.measured : options_.how.budget_s;
    options_.progress({surface, done_, static_cast<int>(plans_.size()), summary_.measured,
                       std::max(expected_, summary_.measured), surface.empty() ? 0 : pace * left});
  }

  DeviceProfile& profile_;
  const std::vector<SurfacePlan>& plans_;
  LayerModels models_;
  const Measure& measure_;
  const ProfileOptions& options_;
  std::map<std::string, std::vector<Channels>> typical_;  // places by layer key
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ProfileSummary summary_;
  int expected_ = 0;
  int done_ = 0;
  int deaths_ = 0;                   // of the worker, since it last measured something
  std::optional<Channels> died_at_;  // the point it died at last
};

}  // namespace

ProfileSummary run_profile(DeviceProfile& profile, const std::vector<SurfacePlan>& plans,
                           const Measure& measure, const ProfileOptions& options) {
  return Run(profile, plans, measure, options).run();
}

}  // namespace ampere
