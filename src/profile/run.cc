#include "profile/run.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "network/network_json.h"

namespace ampere {
namespace {

constexpr int kMostDeaths = 3;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Run {
 public:
  Run(DeviceProfile& profile, const std::vector<SurfacePlan>& plans, const Measure& measure,
      const ProfileOptions& options)
      : profile_(profile), plans_(plans), measure_(measure), options_(options) {}

  ProfileSummary run() {
    profile_.add_plans(plans_);
    const double fitted_before = profile_.fitting_seconds();
    for (const SurfacePlan& plan : plans_) expected_ += still_expected(plan);
    const bool probes =
        std::any_of(plans_.begin(), plans_.end(), [](const SurfacePlan& p) { return p.less_empty; });
    if (probes && profile_.points(kEmptyKey).empty()) measure_point(kEmptyKey, {0, 0}, empty_probe(), 1);
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
    const int limit =
        plan.kind.surface == Surface::kInOut ? options_.guided.max_points_2d : options_.guided.max_points_1d;
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
    for (;;) {
      const std::set<Channels> measured = places(plan.key);
      const bool fit = measured.size() >= corner_count(plan.kind.surface, plan.domain, options_.guided) ||
                       (!measured.empty() && !refused.empty());
      const SurfaceModel* model = fit ? &profile_.model(plan.key, options_.guide) : nullptr;
      const NextPoint next =
          next_point(plan.kind.surface, plan.domain, measured, refused, model, options_.guided);
      s.why = next.why;
      s.deviation = next.deviation;
      if (!next.channels) break;
      try {
        measure_point(plan.key, *next.channels, plan.variant(*next.channels), plan.kind.batch);
        ++s.measured;
        deaths_ = 0;
      } catch (const Error& e) {
        const bool died = e.kind() == ErrorKind::kWorker;
        if (!died && e.kind() != ErrorKind::kOutOfMemory) throw;
        // A worker may die of anything, so the point is tried once more; what kills it twice is left
        // out. Several deaths in a row are not the points' fault.
        if (died && ++deaths_ >= kMostDeaths) throw;
        if (died && died_at_ != next.channels) {
          died_at_ = next.channels;
          continue;
        }
        refused.insert(*next.channels);
        ++s.refused;
      }
    }
    finish(plan, s);
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

  void measure_point(const std::string& key, Channels channels, const Variant& variant, std::int64_t batch) {
    report(key);
    const MeasureRequest request = request_for(variant, batch, options_);
    const Measurement m = measure_(request);
    profile_.add_point({key, channels, provenance(request), m, ""});
    ++summary_.measured;
    if (!m.stable) ++summary_.unstable;
  }

  void report(const std::string& surface) {
    if (!options_.progress) return;
    const int left = std::max(0, expected_ - summary_.measured);
    const double pace = summary_.measured > 0 ? seconds_since(start_) / summary_.measured : options_.budget_s;
    options_.progress({surface, done_, static_cast<int>(plans_.size()), summary_.measured,
                       std::max(expected_, summary_.measured), surface.empty() ? 0 : pace * left});
  }

  DeviceProfile& profile_;
  const std::vector<SurfacePlan>& plans_;
  const Measure& measure_;
  const ProfileOptions& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ProfileSummary summary_;
  int expected_ = 0;
  int done_ = 0;
  int deaths_ = 0;                   // of the worker, since it last measured something
  std::optional<Channels> died_at_;  // the point it died at last
};

}  // namespace

MeasureRequest request_for(const Variant& variant, std::int64_t batch, const ProfileOptions& options) {
  MeasureRequest r;
  r.network = variant.network;
  r.batch = batch;
  r.mode = options.mode;
  r.loss = variant.loss;
  r.input_grad = variant.input_grad;
  r.recipe = options.recipe;
  r.meter = options.meter;
  r.target_error = options.target_error;
  r.window_s = options.window_s;
  r.warm_up_s = options.warm_up_s;
  r.budget_s = options.budget_s;
  r.min_windows = options.min_windows;
  return r;
}

std::string provenance(const MeasureRequest& request) { return to_json(request).dump(); }

ProfileSummary run_profile(DeviceProfile& profile, const std::vector<SurfacePlan>& plans,
                           const Measure& measure, const ProfileOptions& options) {
  return Run(profile, plans, measure, options).run();
}

}  // namespace ampere
