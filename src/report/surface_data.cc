#include "report/surface_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "estimate/estimate.h"
#include "report/numbers.h"

namespace ampere {
namespace {

constexpr int kFine1d = 64;
constexpr int kFine2d = 24;
constexpr int kCoarse2d = 12;
constexpr std::size_t kMostSteps = 9;

// The published method works on plain values, which may be negative; ours on logarithms.
bool as_published(const KnownSurface& s) { return s.plan.as_published; }

enum class Axes { kNone, kOne, kTwo };
Axes axes_of(Surface surface) {
  if (surface == Surface::kPoint) return Axes::kNone;
  return surface == Surface::kInOut ? Axes::kTwo : Axes::kOne;
}

// The number that varies on a surface of one axis.
std::int64_t along(Surface surface, const Channels& c) { return surface == Surface::kOut ? c.out : c.in; }

// Whole numbers from min to max: all when they are few, else evenly spaced in the logarithm.
std::vector<std::int64_t> spaced(std::int64_t min, std::int64_t max, int count) {
  std::set<std::int64_t> values = {min, max};
  const double ratio = static_cast<double>(max) / static_cast<double>(min);
  for (int i = 0; i < count; ++i)
    values.insert(std::llround(static_cast<double>(min) * std::pow(ratio, i / double(count - 1))));
  if (max - min < count) {
    for (std::int64_t v = min; v <= max; ++v) values.insert(v);
  }
  return {values.begin(), values.end()};
}

struct Grid {
  std::vector<std::int64_t> in, out;
  std::vector<Channels> places;  // row by row of `out`
};

Grid grid_over(Surface surface, const std::vector<StoredPoint>& points, int fine) {
  std::int64_t in_min = points[0].channels.in, in_max = in_min;
  std::int64_t out_min = points[0].channels.out, out_max = out_min;
  for (const StoredPoint& p : points) {
    in_min = std::min(in_min, p.channels.in);
    in_max = std::max(in_max, p.channels.in);
    out_min = std::min(out_min, p.channels.out);
    out_max = std::max(out_max, p.channels.out);
  }
  Grid grid{spaced(in_min, in_max, fine), spaced(out_min, out_max, fine), {}};
  if (axes_of(surface) == Axes::kOne) {
    // Where it was measured is where the band is narrow, so those places belong to the curve.
    std::set<std::int64_t> values(surface == Surface::kOut ? grid.out.begin() : grid.in.begin(),
                                  surface == Surface::kOut ? grid.out.end() : grid.in.end());
    for (const StoredPoint& p : points) values.insert(along(surface, p.channels));
    for (std::int64_t v : values) {
      const Channels fixed = points[0].channels;
      grid.places.push_back(surface == Surface::kOut  ? Channels{fixed.in, v}
                            : surface == Surface::kIn ? Channels{v, fixed.out}
                                                      : Channels{v, v});
    }
    return grid;
  }
  if (axes_of(surface) == Axes::kNone) {
    grid.places = {points[0].channels};
    return grid;
  }
  for (std::int64_t out : grid.out) {
    for (std::int64_t in : grid.in) grid.places.push_back({in, out});
  }
  return grid;
}

SurfacePrediction predict(const LayerModels& models, const std::string& key, Quantity quantity,
                          const std::vector<Channels>& places) {
  if (quantity == Quantity::kEnergy) return models.energies(key, places);
  return models.model(key, quantity).at(places);
}

// The published method regresses values, ours their logarithms; intervals follow.
Interval band(double mean, double deviation, bool logarithmic) {
  if (logarithmic && mean > 0) return interval_of(mean, deviation);
  return {mean, mean - 1.96 * deviation, mean + 1.96 * deviation};
}

void put_curve(Json& out, Surface surface, const std::vector<Channels>& places, const SurfacePrediction& p,
               bool logarithmic) {
  for (const char* name : {"x", "mean", "low", "high"}) out[name] = Json::array();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double deviation = std::sqrt(std::max(0.0, p.covariance(row, row)));
    const Interval b = band(p.mean(row), deviation, logarithmic);
    out["x"].push_back(along(surface, places[i]));
    out["mean"].push_back(short_number(b.value));
    out["low"].push_back(short_number(b.low));
    out["high"].push_back(short_number(b.high));
  }
}

double relative_deviation(const SurfacePrediction& p, Eigen::Index i) {
  return std::sqrt(std::max(0.0, p.covariance(i, i))) / std::max(std::abs(p.mean(i)), 1e-300);
}

Json observation_rows(const std::vector<Observation>& observations) {
  Json rows = Json::array();
  for (const Observation& o : observations)
    rows.push_back({o.channels.in, o.channels.out, short_number(o.value), short_number(o.error)});
  return rows;
}

// As they were measured, not as they are sorted.
std::vector<Observation> in_order(const LayerModels& models, const std::string& key, Quantity quantity) {
  const std::vector<Observation> sorted = models.observations(key, quantity);
  std::vector<Observation> ordered;
  std::set<Channels> taken;
  for (const StoredPoint& p : models.profile().points(key)) {
    const auto it = std::find_if(sorted.begin(), sorted.end(),
                                 [&](const Observation& o) { return o.channels == p.channels; });
    if (it != sorted.end() && taken.insert(p.channels).second) ordered.push_back(*it);
  }
  return ordered;
}

Json quantity_data(const LayerModels& models, const KnownSurface& s, Quantity quantity) {
  const std::string& key = s.plan.key;
  const Surface surface = s.plan.kind.surface;
  const bool two = axes_of(surface) == Axes::kTwo;
  const Grid grid = grid_over(surface, models.profile().points(key), two ? kFine2d : kFine1d);
  const SurfacePrediction p = predict(models, key, quantity, grid.places);
  Json out = Json::object();
  if (two) {
    out["x"] = grid.in;
    out["y"] = grid.out;
    out["mean"] = out["deviation"] = Json::array();
    for (Eigen::Index i = 0; i < p.mean.size(); ++i) {
      out["mean"].push_back(short_number(p.mean(i)));
      out["deviation"].push_back(short_number(relative_deviation(p, i)));
    }
  } else {
    put_curve(out, surface, grid.places, p, !as_published(s));
  }
  out["points"] = observation_rows(in_order(models, key, quantity));
  Json tests = Json::array();
  const double fixed = s.plan.less_empty ? models.profile().empty(quantity) : 0;
  for (const Purpose purpose : {Purpose::kTimedProbe, Purpose::kProbe}) {
    for (const StoredPoint& point : models.profile().points(probe_of(s.plan.surface, purpose).name)) {
      const auto value = value_of(point.measurement, quantity);
      if (!value) continue;
      const double own = point.measurement.mode == "replay" ? *value : *value - fixed;
      if (own > 0) tests.push_back({point.channels.in, point.channels.out, short_number(own)});
    }
  }
  out["tests"] = tests;
  return out;
}

// After how many points to show the fit: the first few, then now and then, the last.
std::vector<std::size_t> shown_steps(std::size_t points) {
  std::set<std::size_t> steps;
  for (std::size_t i = 0; i < kMostSteps && points >= 2; ++i) {
    const double share = static_cast<double>(i) / double(kMostSteps - 1);
    const double step = 2 * std::pow(static_cast<double>(points) / 2, share);
    steps.insert(static_cast<std::size_t>(std::llround(step)));
  }
  return {steps.begin(), steps.end()};
}

Json steps_data(const LayerModels& models, const KnownSurface& s, Quantity quantity) {
  const Surface surface = s.plan.kind.surface;
  const bool two = axes_of(surface) == Axes::kTwo;
  const std::vector<Observation> all = in_order(models, s.plan.key, quantity);
  const Grid grid = grid_over(surface, models.profile().points(s.plan.key), two ? kCoarse2d : kFine1d / 2);
  const bool paper = as_published(s);
  Json steps = {{"quantity", quantity == Quantity::kEnergy ? "energy_j" : "time_s"}, {"fits", Json::array()}};
  if (two) {
    steps["x"] = grid.in;
    steps["y"] = grid.out;
  }
  for (std::size_t count : shown_steps(all.size())) {
    const SurfaceModel model(
        {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}, surface,
        CostPolynomial(s.plan.kind, hands_gradient_down(s.plan.role)),
        paper ? paper_surface_options() : default_surface_options(!models.profile().two_clocks()));
    const SurfacePrediction p = model.at(grid.places);
    Json fit = {{"points", count}};
    double largest = 0;
    Json deviations = Json::array();
    for (Eigen::Index i = 0; i < p.mean.size(); ++i) {
      largest = std::max(largest, relative_deviation(p, i));
      if (two) deviations.push_back(short_number(relative_deviation(p, i)));
    }
    fit["largest_deviation"] = short_number(largest);
    if (two)
      fit["deviation"] = deviations;
    else
      put_curve(fit, surface, grid.places, p, !paper);
    steps["fits"].push_back(std::move(fit));
  }
  return steps;
}

}  // namespace

Json surface_data(const LayerModels& models, const KnownSurface& s) {
  const std::string& key = s.plan.key;
  const Surface surface = s.plan.kind.surface;
  Json axes = Json::array();
  if (surface == Surface::kTied) axes = {"channels"};
  if (surface == Surface::kIn || surface == Surface::kInOut) axes.push_back("in");
  if (surface == Surface::kOut || surface == Surface::kInOut) axes.push_back("out");
  const std::string role = to_word(s.plan.role);
  Json out = {{"method", s.method}, {"role", role}, {"kind", s.plan.kind.word()},  {"name", s.plan.key},
              {"recipe", s.recipe}, {"axes", axes}, {"quantities", Json::object()}};
  bool any_energy = false, all_energy = true;
  for (const StoredPoint& p : models.profile().points(key)) {
    any_energy = any_energy || p.measurement.energy_j;
    all_energy = all_energy && p.measurement.energy_j;
  }
  if (any_energy) out["quantities"]["energy_j"] = quantity_data(models, s, Quantity::kEnergy);
  out["quantities"]["time_s"] = quantity_data(models, s, Quantity::kTime);
  if (axes_of(surface) != Axes::kNone)
    out["steps"] = steps_data(models, s, all_energy ? Quantity::kEnergy : Quantity::kTime);
  return out;
}

}  // namespace ampere
