#include "profile/device_profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

bool is_paper(const std::string& key) { return key.rfind("paper/", 0) == 0; }

double error_of(const Measurement& m, Quantity quantity) {
  return quantity == Quantity::kEnergy ? m.energy_error : m.time_error;
}

}  // namespace

std::optional<double> value_of(const Measurement& m, Quantity quantity) {
  switch (quantity) {
    case Quantity::kEnergy:
      return m.energy_j;
    case Quantity::kTime:
      return m.time_s;
    default:
      return m.host_s;
  }
}

DeviceProfile::DeviceProfile(Store& store, std::string device, std::string recipe)
    : store_(store), device_(std::move(device)), recipe_(std::move(recipe)) {}

void DeviceProfile::add_plans(const std::vector<SurfacePlan>& plans) {
  for (const SurfacePlan& p : plans) plans_[p.key] = p;
}

const SurfacePlan& DeviceProfile::plan(const std::string& key) const {
  auto it = plans_.find(key);
  if (it == plans_.end()) throw Error(ErrorKind::kFailed, "surface " + key + " is not planned");
  return it->second;
}

const std::vector<StoredPoint>& DeviceProfile::points(const std::string& key) {
  auto it = points_.find(key);
  if (it == points_.end()) it = points_.emplace(key, store_.points(device_, recipe_, key)).first;
  return it->second;
}

void DeviceProfile::add_point(const StoredPoint& point) {
  store_.add_point(device_, recipe_, point);
  points_.erase(point.surface);
  // Neighbours of other surfaces may have changed with it; models are cheap to fit again.
  if (is_paper(point.surface) || point.surface == kEmptyKey) {
    models_.clear();
  } else {
    for (Quantity q : {Quantity::kEnergy, Quantity::kTime, Quantity::kHost})
      models_.erase({point.surface, q});
  }
}

bool DeviceProfile::has(const std::string& key) {
  if (points(key).empty()) return false;
  const SurfacePlan& p = plan(key);
  return std::all_of(p.subtract.begin(), p.subtract.end(), [&](const Neighbour& n) { return has(n.key); });
}

double DeviceProfile::empty(Quantity quantity) {
  std::vector<double> values;
  for (const StoredPoint& p : points(kEmptyKey)) {
    if (auto v = value_of(p.measurement, quantity)) values.push_back(*v);
  }
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::vector<Observation> DeviceProfile::observations(const std::string& key, Quantity quantity) {
  const SurfacePlan& p = plan(key);
  const double fixed = p.less_empty ? empty(quantity) : 0;
  std::map<Channels, std::vector<Observation>> by_place;
  for (const StoredPoint& point : points(key)) {
    const auto raw = value_of(point.measurement, quantity);
    if (!raw) continue;
    double value = *raw - fixed;
    for (const Neighbour& n : p.subtract) value -= model(n.key, quantity).mean_at(n.channels(point.channels));
    // A layer that costs less than the spread of an empty iteration is known to be next to nothing,
    // but a logarithm needs it positive.
    if (!is_paper(key)) value = std::max(value, 0.02 * *raw);
    const double relative = error_of(point.measurement, quantity) * *raw / std::max(std::abs(value), 1e-300);
    by_place[point.channels].push_back({point.channels, value, relative});
  }
  std::vector<Observation> out;
  for (const auto& [place, seen] : by_place) {
    Observation mean{place, 0, 0};
    for (const Observation& o : seen) {
      mean.value += o.value / static_cast<double>(seen.size());
      mean.error += o.error / static_cast<double>(seen.size());
    }
    out.push_back(mean);
  }
  return out;
}

const SurfaceModel& DeviceProfile::model(const std::string& key, Quantity quantity) {
  auto it = models_.find({key, quantity});
  if (it != models_.end()) return *it->second;
  std::vector<Observation> seen = observations(key, quantity);
  if (seen.empty())
    throw Error(ErrorKind::kNotProfiled, "nothing was measured for " + key + "; run ampere profile");
  const SurfacePlan& p = plan(key);
  const auto start = std::chrono::steady_clock::now();
  auto fitted = std::make_unique<SurfaceModel>(
      std::move(seen), p.kind.surface, CostPolynomial(p.kind, hands_gradient_down(p.role)),
      is_paper(key) ? paper_surface_options() : default_surface_options());
  fitting_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *(models_[{key, quantity}] = std::move(fitted));
}

bool DeviceProfile::modelled() {
  for (const auto& [key, plan] : plans_) {
    for (const StoredPoint& p : points(key)) {
      if (p.measurement.modelled) return true;
    }
  }
  return false;
}

std::optional<double> DeviceProfile::idle_power_w() {
  const auto fact = store_.fact(device_, recipe_, "idle");
  if (!fact) return std::nullopt;
  return JsonReader(*fact, "idle").number("power_w");
}

void DeviceProfile::set_idle_power_w(double watts, bool is_modelled) {
  store_.put_fact(device_, recipe_, "idle",
                  {{"power_w", watts}, {"modelled", is_modelled}, {"measured_at", utc_now()}});
}

}  // namespace ampere
