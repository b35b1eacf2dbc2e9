#include "model/device_profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

bool is_paper(const std::string& key) {
  return key.rfind("paper/", 0) == 0 || key.rfind("paper-replay/", 0) == 0;
}

// How well the same layer's cost comes again some minutes later: replays hardly differ, while eager training
// shares the processor with everything else.
constexpr double kReplayRepeatability = 0.005;
constexpr double kEagerRepeatability = 0.03;
constexpr double kHostScatter = 0.2;
constexpr double kSharedGrowth = 1.1;

double error_of(const Measurement& m, Quantity quantity) {
  return quantity == Quantity::kEnergy ? m.energy_error : m.time_error;
}

}  // namespace

std::string probe_key(const std::string& surface, Probes kind) {
  return (kind == Probes::kEnergies ? "exact/" : "probe/") + surface;
}

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
  const std::size_t before = plans_.size();
  for (const SurfacePlan& p : plans) plans_[p.key] = p;
  if (plans_.size() != before) powers_.clear();  // kinds teach each other
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
  forget_models(point.surface);
}

void DeviceProfile::forget_models(const std::string& surface) {
  // Neighbours of other surfaces may have changed with it; models are cheap to fit again.
  if (is_paper(surface) || surface == kEmptyKey) {
    models_.clear();
    powers_.clear();
    return;
  }
  std::string key = surface;
  for (Probes kind : {Probes::kTimes, Probes::kEnergies}) {
    const std::string prefix = probe_key("", kind);
    if (key.rfind(prefix, 0) == 0) key = key.substr(prefix.size());
  }
  for (Quantity q : {Quantity::kEnergy, Quantity::kTime, Quantity::kHost}) models_.erase({key, q});
  for (const bool shared : {false, true}) powers_.erase({key, shared});
}

void DeviceProfile::use_probes(Probes probes) {
  if (probes == probes_) return;
  probes_ = probes;
  models_.clear();
  powers_.clear();
}

bool DeviceProfile::has(const std::string& key) {
  const bool probed = (probes_ != Probes::kNone && !points(probe_key(key, Probes::kTimes)).empty()) ||
                      (probes_ == Probes::kEnergies && !points(probe_key(key, Probes::kEnergies)).empty());
  if (points(key).empty() && !probed) return false;
  const SurfacePlan& p = plan(key);
  return std::all_of(p.subtract.begin(), p.subtract.end(), [&](const Neighbour& n) { return has(n.key); });
}

double DeviceProfile::empty(Quantity quantity) {
  std::vector<double> values;
  for (const StoredPoint& p : points(kEmptyKey)) {
    if (auto v = value_of(p.measurement, quantity)) values.push_back(*v);
  }
  return values.empty() ? 0 : median(std::move(values));
}

bool DeviceProfile::two_clocks() {
  const auto& seen = points(kEmptyKey);
  return std::any_of(seen.begin(), seen.end(), [](const StoredPoint& p) { return p.measurement.host_s; });
}

std::vector<Observation> DeviceProfile::observations_among(const std::string& stored, const SurfacePlan& p,
                                                           Quantity quantity) {
  const double fixed = p.less_empty ? empty(quantity) : 0;
  std::map<Channels, std::vector<Observation>> by_place;
  for (const StoredPoint& point : points(stored)) {
    const auto raw = value_of(point.measurement, quantity);
    if (!raw) continue;
    // A replay contains no iteration's fixed cost: the device has none, only the host does.
    const bool replayed = point.measurement.mode == "replay";
    double value = *raw - (replayed && quantity != Quantity::kHost ? 0 : fixed);
    for (const Neighbour& n : p.subtract) value -= model(n.key, quantity).mean_at(n.channels(point.channels));
    // A layer that costs less than the spread of an empty iteration is known to be next to nothing,
    // but a logarithm needs it positive.
    if (!is_paper(p.key)) value = std::max(value, 0.02 * *raw);
    const double relative = error_of(point.measurement, quantity) * *raw / std::max(std::abs(value), 1e-300);
    by_place[point.channels].push_back(
        {point.channels, value, relative, replayed ? kReplayRepeatability : kEagerRepeatability});
  }
  std::vector<Observation> out;
  for (const auto& [place, seen] : by_place) {
    Observation mean{place, 0, 0, seen.front().repeatability};
    for (const Observation& o : seen) {
      mean.value += o.value / static_cast<double>(seen.size());
      mean.error += o.error / static_cast<double>(seen.size());
    }
    out.push_back(mean);
  }
  return out;
}

std::vector<Observation> DeviceProfile::observations(const std::string& key, Quantity quantity) {
  return observations_among(key, plan(key), quantity);
}

std::vector<PowerObservation> DeviceProfile::powers_among(const std::string& stored) {
  std::vector<PowerObservation> out;
  for (const StoredPoint& p : points(stored)) {
    const Measurement& m = p.measurement;
    if (m.energy_j) out.push_back({p.channels, *m.energy_j, m.time_s, m.energy_error, m.kernels});
  }
  return out;
}

const SurfaceModel& DeviceProfile::model(const std::string& key, Quantity quantity) {
  auto it = models_.find({key, quantity});
  if (it != models_.end()) return *it->second;
  const SurfacePlan& p = plan(key);
  std::vector<Observation> probed;
  for (Probes kind : {Probes::kTimes, Probes::kEnergies}) {
    if (is_paper(key) || static_cast<int>(kind) > static_cast<int>(probes_)) continue;
    for (const Observation& o : observations_among(probe_key(key, kind), p, quantity)) probed.push_back(o);
  }
  std::vector<Observation> seen = observations(key, quantity);
  if (seen.empty()) seen = probed;
  if (seen.empty())
    throw Error(ErrorKind::kNotProfiled, "nothing was measured for " + key + "; run ampere profile");
  const auto start = std::chrono::steady_clock::now();
  auto fitted = std::make_unique<SurfaceModel>(
      std::move(seen), p.kind.surface, CostPolynomial(p.kind, hands_gradient_down(p.role)),
      is_paper(key) ? paper_surface_options() : default_surface_options());
  for (const Observation& o : probed) fitted->know(o);
  fitting_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *(models_[{key, quantity}] = std::move(fitted));
}

const PowerModel::Others& DeviceProfile::shared_power() {
  std::map<std::string, PowerOfKind> kinds;
  std::size_t points = 0;
  for (const auto& [key, p] : plans_) {
    if (is_paper(key)) continue;
    PowerOfKind kind{CostPolynomial(p.kind, hands_gradient_down(p.role)), powers_among(key)};
    if (kind.observations.empty()) continue;
    points += kind.observations.size();
    kinds.emplace(key, std::move(kind));
  }
  // While a device is being profiled, points come one by one: a few more change little.
  if (kinds.size() == shared_kinds_ && points >= shared_points_ &&
      static_cast<double>(points) <= kSharedGrowth * static_cast<double>(shared_points_))
    return shared_power_;
  const auto start = std::chrono::steady_clock::now();
  const double idle_w = idle_power_w().value_or(0);
  shared_power_.by_rates = SharedPower::fit(kinds, idle_w);
  shared_power_.by_kernels = SharedPower::fit(kinds, idle_w, PowerInputs::kKernels);
  shared_kinds_ = kinds.size();
  shared_points_ = points;
  fitting_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return shared_power_;
}

const PowerModel& DeviceProfile::power(const std::string& key, bool shared) {
  auto it = powers_.find({key, shared});
  if (it != powers_.end()) return *it->second;
  const SurfacePlan& p = plan(key);
  std::vector<PowerObservation> probed;
  if (probes_ == Probes::kEnergies) probed = powers_among(probe_key(key, Probes::kEnergies));
  std::vector<PowerObservation> seen = powers_among(key);
  if (seen.empty()) seen = probed;
  if (seen.empty())
    throw Error(ErrorKind::kNotProfiled, "no energy was measured for " + key + "; run ampere profile");
  PowerModel::Others others;
  if (shared) others = shared_power();
  others.kind = key;
  for (auto* all : {&others.by_rates, &others.by_kernels}) {
    if (*all && !(*all)->knows(key)) all->reset();
  }
  const auto start = std::chrono::steady_clock::now();
  auto fitted =
      std::make_unique<PowerModel>(seen, CostPolynomial(p.kind, hands_gradient_down(p.role)), others);
  // As with times, what was measured of a place by itself counts last.
  tell_kernels(key, *fitted);
  if (probes_ != Probes::kNone) tell_kernels(probe_key(key, Probes::kTimes), *fitted);
  for (const PowerObservation& o : probed) fitted->know(o);
  fitting_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *(powers_[{key, shared}] = std::move(fitted));
}

void DeviceProfile::tell_kernels(const std::string& stored, PowerModel& power) {
  for (const StoredPoint& p : points(stored)) power.know(p.channels, p.measurement.kernels);
}

const PowerModel& DeviceProfile::own_power(const std::string& key) { return power(key, false); }

bool DeviceProfile::all_have_energy(const std::string& key) {
  const auto complete = [&](const std::string& stored) {
    const auto& seen = points(stored);
    return std::all_of(seen.begin(), seen.end(), [](const StoredPoint& p) { return p.measurement.energy_j; });
  };
  return complete(key) && (probes_ == Probes::kNone || complete(probe_key(key, Probes::kTimes)));
}

SurfacePrediction DeviceProfile::energies(const std::string& key, const std::vector<Channels>& places) {
  if (all_have_energy(key)) return model(key, Quantity::kEnergy).at(places);
  return power(key, true).energy(places, model(key, Quantity::kTime).at(places));
}

HostTime DeviceProfile::host(const std::string& key) {
  std::vector<std::string> stored = {key};
  if (probes_ != Probes::kNone) stored.push_back(probe_key(key, Probes::kTimes));
  if (probes_ == Probes::kEnergies) stored.push_back(probe_key(key, Probes::kEnergies));
  std::vector<double> values;
  for (const std::string& from : stored) {
    for (const StoredPoint& p : points(from)) {
      if (p.measurement.host_s) values.push_back(*p.measurement.host_s);
    }
  }
  if (values.empty()) return {};
  // The host is disturbed by whatever else runs, so the middle counts and single values say little.
  const double error = values.size() > 1 ? relative_error_of_median(values) : kHostScatter;
  const double typical = median(values);
  return {std::max(typical - empty(Quantity::kHost), 0.02 * typical), error * typical};
}

bool DeviceProfile::modelled() {
  for (const auto& [key, plan] : plans_) {
    for (const std::string& stored :
         {key, probe_key(key, Probes::kTimes), probe_key(key, Probes::kEnergies)}) {
      for (const StoredPoint& p : points(stored)) {
        if (p.measurement.modelled) return true;
      }
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
