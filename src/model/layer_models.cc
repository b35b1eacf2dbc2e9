#include "model/layer_models.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "model/fitted_models.h"
#include "model/measured_works.h"
#include "model/part_work.h"

namespace ampere {
namespace {

// How well the same layer's cost comes again some minutes later: replays hardly differ, while eager training
// shares the processor with everything else.
constexpr double kReplayRepeatability = 0.005;
constexpr double kEagerRepeatability = 0.03;
constexpr double kHostScatter = 0.2;
// Fewer points than these are no surface: other layers of the device tell more.
constexpr std::size_t kFewOfPlane = 4, kFewOfLine = 3;

// How well energy comes again at the same place.
constexpr double kEnergyRepeatability = 0.01;
constexpr double kShortest_s = 1e-12;

// A device that was slowed down by heat took up to half as long again: such a point says little of a cold
// one.
constexpr double kThrottledError = 0.25;

double error_of(const Measurement& m, Quantity quantity) {
  const double seen = quantity == Quantity::kEnergy ? m.energy_error : m.time_error;
  return m.throttled ? std::max(seen, kThrottledError) : seen;
}

// Adds the time until it ends to what fitting took.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What kinds have in common that begin with the same op, at whatever size of its inputs.
std::string beginning_of(const SurfacePlan& plan) {
  const std::string word = plan.kind.first_op_word();
  return to_word(plan.role) + word.substr(0, word.find('@')) + "b" + std::to_string(plan.kind.batch);
}

CostPolynomial cost_of(const SurfacePlan& plan) { return {plan.kind, hands_gradient_down(plan.role)}; }

}  // namespace

LayerModels::LayerModels(const DeviceProfile& profile, const std::vector<SurfacePlan>& plans, Probes probes)
    : profile_(profile), probes_(probes) {
  for (const SurfacePlan& p : plans) plans_.emplace(p.key, p);
  // Hidden layers subtract input and output layers, input layers output layers, those nothing: what a damaged
  // store says otherwise would have no end.
  for (auto it = plans_.begin(); it != plans_.end();) {
    const SurfacePlan& p = it->second;
    const bool ends = std::all_of(p.subtract.begin(), p.subtract.end(), [&](const Neighbour& n) {
      const auto other = plans_.find(n.key);
      return other == plans_.end() || other->second.subtract.size() < p.subtract.size();
    });
    it = ends ? std::next(it) : plans_.erase(it);
  }
  std::vector<std::string> stored = {empty_surface().name};
  for (const auto& [key, plan] : plans_) {
    names_ += key + "\n";
    stored.push_back(key);
    for (std::string& name : probes_of(plan)) stored.push_back(std::move(name));
    if (!plan.as_published && !is_captured(plan.kind)) alike_[beginning_of(plan)].push_back(key);
    if (computes_of(plan.kind, profile.recipe()) == Computes::kHalf) computes_ = Computes::kHalf;
  }
  profile_.fetch(stored);
}

const SurfacePlan& LayerModels::plan(const std::string& key) const {
  auto it = plans_.find(key);
  if (it == plans_.end()) throw Error(ErrorKind::kFailed, "surface " + key + " is not planned");
  return it->second;
}

// Names of the surfaces whose probes count, the latest last. The published method knows none.
std::vector<std::string> LayerModels::probes_of(const SurfacePlan& p) const {
  std::vector<std::string> names;
  if (p.as_published || probes_ == Probes::kNone) return names;
  for (const Purpose purpose : {Purpose::kTimedProbe, Purpose::kProbe})
    names.push_back(probe_of(p.surface, purpose).name);
  return names;
}

std::size_t LayerModels::points_behind(const SurfacePlan& p) const {
  std::size_t count = profile_.points(p.key).size() + profile_.points(empty_surface().name).size();
  for (const std::string& probes : probes_of(p)) count += profile_.points(probes).size();
  for (const Neighbour& n : p.subtract) count += points_behind(plan(n.key));
  return count;
}

bool LayerModels::has(const std::string& key) const {
  const SurfacePlan& p = plan(key);
  const std::vector<std::string> probes = probes_of(p);
  const bool measured = !profile_.points(key).empty() ||
                        std::any_of(probes.begin(), probes.end(), [&](const std::string& stored) {
                          return !profile_.points(stored).empty();
                        });
  return measured &&
         std::all_of(p.subtract.begin(), p.subtract.end(), [&](const Neighbour& n) { return has(n.key); });
}

// Null where nothing was measured on this device that tells what calls cost.
const WorkModel* LayerModels::works() const {
  Fitted<WorkModel>& fitted = profile_.fitted_->works[computes_];
  const std::size_t behind = profile_.added_ + 1;  // 0: never asked for
  if (fitted.points == behind) return fitted.model.get();
  const Stopwatch watch(profile_.fitted_->seconds);
  MeasuredWorks all = measured_works(profile_, computes_);
  fitted = {behind, nullptr};
  profile_.fitted_->told_places.clear();
  profile_.fitted_->works_modelled = all.modelled;
  try {
    if (profile_.is_sheet() || (all.energies && any_tells(all.seen, computes_)))
      fitted.model = model_of(profile_, std::move(all));
    if (fitted.model && !fitted.model->tells()) fitted.model = nullptr;
  } catch (const Error&) {  // nothing among it that tells anything
  }
  return fitted.model.get();
}

bool LayerModels::tells(const std::string& key) const {
  if (has(key)) return true;
  const SurfacePlan& p = plan(key);
  if (is_loop_part(p.kind)) return works() && (!profile_.two_clocks() || loop_host_s(profile_, p.kind) > 0);
  if (is_captured(p.kind)) return work_of_part(p.kind, profile_.recipe()) && works();
  return told_by_works(p.surface) && works();
}

bool LayerModels::told(const std::string& key, Channels channels) const {
  const SurfacePlan& p = plan(key);
  if (is_captured(p.kind)) return !has(key);
  if (!told_by_works(p.surface)) return false;
  const std::size_t enough = p.kind.surface == Surface::kPoint   ? 1
                             : p.kind.surface == Surface::kInOut ? kFewOfPlane
                                                                 : kFewOfLine;
  const std::vector<StoredPoint>& own = profile_.points(key);
  if (own.size() >= enough) return false;
  const bool here = std::any_of(own.begin(), own.end(),
                                [&](const StoredPoint& point) { return point.channels == channels; });
  return !here && !probed(key, channels) && works();
}

std::vector<AskedWork> LayerModels::asked_of(const std::vector<LayerPlace>& places) const {
  std::vector<AskedWork> asked;
  asked.reserve(places.size());
  for (const LayerPlace& place : places) {
    // What asks for nothing costs nothing.
    asked.push_back(asked_work(profile_, plan(place.key), place.channels).value_or(AskedWork{place.key, {}}));
  }
  return asked;
}

WorkCosts LayerModels::unmeasured_means(const std::vector<LayerPlace>& places) const {
  return works()->means(asked_of(places));
}

const WorkCosts& LayerModels::unmeasured(const std::vector<LayerPlace>& places) const {
  const std::vector<AskedWork> asked = asked_of(places);
  std::vector<std::string> names;
  names.reserve(asked.size() + 1);
  names.push_back(computes_ == Computes::kHalf ? "half" : "float");
  for (const AskedWork& one : asked) names.push_back(one.place);
  const WorkModel* model = works();
  FittedModels& fitted = *profile_.fitted_;
  if (fitted.told_places != names) {
    fitted.told = model->at(asked);
    fitted.told_places = std::move(names);
  }
  return fitted.told;
}

bool LayerModels::probed(const std::string& key, Channels channels) const {
  for (const std::string& stored : probes_of(plan(key))) {
    for (const StoredPoint& p : profile_.points(stored)) {
      if (p.channels == channels) return true;
    }
  }
  return false;
}

std::vector<Observation> LayerModels::observations_among(const std::string& stored, const SurfacePlan& p,
                                                         Quantity quantity) const {
  // Captured calls are no iteration: there is no empty one in what they cost.
  const double fixed = p.less_empty && !is_captured(p.kind) ? profile_.empty(quantity) : 0;
  std::map<Channels, std::vector<Observation>> by_place;
  for (const StoredPoint& point : profile_.points(stored)) {
    const auto raw = value_of(point.measurement, quantity);
    // What a damaged store has of no channels says nothing.
    if (!raw || point.channels.in < 1 || point.channels.out < 1) continue;
    // A replay contains no iteration's fixed cost: the device has none, only the host does.
    const bool replayed = point.measurement.mode == "replay";
    double value = *raw - (replayed && quantity != Quantity::kHost ? 0 : fixed);
    for (const Neighbour& n : p.subtract) value -= model(n.key, quantity).mean_at(n.channels(point.channels));
    // A layer that costs less than the spread of an empty iteration is known to be next to nothing,
    // but a logarithm needs it positive.
    if (!p.as_published) value = std::max(value, 0.02 * *raw);
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

std::vector<Observation> LayerModels::observations(const std::string& key, Quantity quantity) const {
  return observations_among(key, plan(key), quantity);
}

const SurfaceModel& LayerModels::model(const std::string& key, Quantity quantity) const {
  const SurfaceModel& own = own_model(key, quantity);
  const SurfacePlan& p = plan(key);
  const auto alike = alike_.find(beginning_of(p));
  if (own.steps().empty() || alike == alike_.end() || alike->second.size() < 2) return own;
  std::size_t behind = 0;
  for (const std::string& other : alike->second) behind += points_behind(plan(other));
  Fitted<SurfaceModel>& fitted = profile_.fitted_->surfaces[{key + "\n" + names_, quantity, probes_}];
  if (fitted.model && fitted.points == behind) return *fitted.model;
  auto made = std::make_shared<SurfaceModel>(own);
  for (const std::string& other : alike->second) {
    if (other != key && plan(other).kind.surface == p.kind.surface && has(other))
      made->narrow(own_model(other, quantity).steps());
  }
  fitted = {behind, std::move(made)};
  return *fitted.model;
}

const SurfaceModel& LayerModels::own_model(const std::string& key, Quantity quantity) const {
  const SurfacePlan& p = plan(key);
  Fitted<SurfaceModel>& fitted = profile_.fitted_->surfaces[{key, quantity, probes_}];
  const std::size_t behind = points_behind(p);
  if (fitted.model && fitted.points == behind) return *fitted.model;
  std::vector<Observation> probed;
  for (const std::string& stored : probes_of(p)) {
    for (const Observation& o : observations_among(stored, p, quantity)) probed.push_back(o);
  }
  std::vector<Observation> seen = observations(key, quantity);
  if (seen.empty()) seen = probed;
  if (seen.empty())
    throw Error(ErrorKind::kNotProfiled, "nothing was measured for " + key + "; run ampere profile");
  const Stopwatch watch(profile_.fitted_->seconds);
  auto made = std::make_shared<SurfaceModel>(
      std::move(seen), p.kind.surface, cost_of(p),
      p.as_published ? paper_surface_options() : default_surface_options(!profile_.two_clocks()));
  for (const Observation& o : probed) made->know(o);
  fitted = {behind, std::move(made)};
  return *fitted.model;
}

bool LayerModels::all_have_energy(const SurfacePlan& p) const {
  const auto complete = [&](const std::string& stored) {
    const auto& seen = profile_.points(stored);
    return std::all_of(seen.begin(), seen.end(),
                       [](const StoredPoint& point) { return point.measurement.energy_j; });
  };
  return complete(p.key) &&
         (probes_ == Probes::kNone || complete(probe_of(p.surface, Purpose::kTimedProbe).name));
}

SurfacePrediction LayerModels::energies(const std::string& key, const std::vector<Channels>& places) const {
  const SurfacePlan& p = plan(key);
  if (all_have_energy(p)) return model(key, Quantity::kEnergy).at(places);
  // A kind has few energies, and others have met what it does in a second: power is told by all together.
  if (!works())
    throw Error(ErrorKind::kNotProfiled, "no energy was measured for any of the layers; run ampere profile");
  const SurfacePrediction times = model(key, Quantity::kTime).at(places);
  std::vector<LayerPlace> layers;
  layers.reserve(places.size());
  for (const Channels& place : places) layers.push_back({key, place});
  std::vector<AskedWork> asked = asked_of(layers);
  for (std::size_t i = 0; i < asked.size(); ++i)
    asked[i].time_s = std::max(times.mean(static_cast<Eigen::Index>(i)), kShortest_s);
  const WorkBelief believed = works()->believed(asked);
  SurfacePrediction told{times.mean.cwiseProduct(believed.power_w), {}};
  told.covariance = believed.power_w.asDiagonal() * times.covariance * believed.power_w.asDiagonal() +
                    told.mean.asDiagonal() * believed.power_covariance * told.mean.asDiagonal();
  // As with times, what was measured of a place by itself counts, the latest last.
  std::vector<std::string> stored = probes_of(p);
  stored.insert(stored.begin(), key);
  for (const std::string& from : stored) {
    for (const StoredPoint& point : profile_.points(from)) {
      const auto at = std::find(places.begin(), places.end(), point.channels);
      if (at == places.end() || !point.measurement.energy_j) continue;
      const auto row = static_cast<Eigen::Index>(at - places.begin());
      const double deviation_j =
          *point.measurement.energy_j * std::max(point.measurement.energy_error, kEnergyRepeatability);
      if (deviation_j * deviation_j > told.covariance(row, row)) continue;
      told.mean(row) = *point.measurement.energy_j;
      told.covariance.row(row).setZero();
      told.covariance.col(row).setZero();
      told.covariance(row, row) = deviation_j * deviation_j;
    }
  }
  return told;
}

HostTime LayerModels::host(const std::string& key) const {
  std::vector<std::string> stored = probes_of(plan(key));
  stored.insert(stored.begin(), key);
  std::vector<double> values;
  for (const std::string& from : stored) {
    for (const StoredPoint& p : profile_.points(from)) {
      if (p.measurement.host_s) values.push_back(*p.measurement.host_s);
    }
  }
  if (values.empty() && told_by_works(plan(key).surface) && works()) {
    const SurfacePlan& p = plan(key);
    // How many calls a layer is does not depend on its channels.
    const auto asked = asked_work(profile_, p, {p.domain.in.max, p.domain.out.max});
    const double mean = is_loop_part(p.kind) ? loop_host_s(profile_, p.kind)
                        : asked              ? works()->host_s(asked->works)
                                             : 0;
    return {mean, kHostScatter * mean};
  }
  if (values.empty()) return {};
  // The host is disturbed by whatever else runs, so the middle counts and single values say little.
  const double error = values.size() > 1 ? relative_error_of_median(values) : kHostScatter;
  const double middle = median(values);
  // Captured calls are told without what every iteration costs besides.
  if (is_captured(plan(key).kind)) return {middle, error * middle};
  return {std::max(middle - profile_.empty(Quantity::kHost), 0.02 * middle), error * middle};
}

bool LayerModels::modelled() const {
  if (profile_.is_sheet()) return true;  // no counter has told anything
  for (const auto& [key, p] : plans_) {
    const bool by_works = told_by_works(p.surface) && (!has(key) || !all_have_energy(p));
    if (by_works && works() && profile_.fitted_->works_modelled) return true;
    for (const std::string& stored :
         {key, probe_of(p.surface, Purpose::kTimedProbe).name, probe_of(p.surface).name}) {
      for (const StoredPoint& point : profile_.points(stored)) {
        if (point.measurement.modelled) return true;
      }
    }
  }
  return false;
}

}  // namespace ampere
