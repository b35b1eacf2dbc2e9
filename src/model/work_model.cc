#include "model/work_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "model/sheet_belief.h"
#include "model/sheet_power.h"

namespace ampere {
namespace {

// What a part's calls do not tell of it, relative: how they overlap, and what each finds in the cache.
constexpr double kOwnTime = 0.03;
constexpr double kOwnPower = 0.02;
constexpr double kLeastWorkError = 0.005, kMostWorkError = 1;  // beyond, it tells nothing anyway
// The process's own uncertainty is of single calls that it believes to err by themselves; on networks whose
// kinds were left out it was found too small by this factor, and never below this share (docs/one_model.md).
constexpr double kCaution = 1.3;
constexpr double kLeastUnsure = 0.08;
// What takes longer than was believed does the same work, only slower, and draws less meanwhile: this share
// of a time's error is not one of its energy (docs/one_model.md).
constexpr double kDrawsLess = 0.25;
// What a host takes to issue a call, before any was seen to: the middle of recorded parts (H200, Python).
constexpr double kHostPerCall = 40e-6;

double calls_in(const std::vector<CountedWork>& works) {
  double count = 0;
  for (const CountedWork& w : works) count += w.count;
  return count;
}

// Works as numbers, each once at each place.
class Numbered {
 public:
  int number(const OpWork& work, Where where) {
    const auto [at, is_new] = numbers_.try_emplace({where, work}, static_cast<int>(works_.size()));
    if (is_new) works_.push_back({where, work});
    return at->second;
  }
  std::vector<SumTerm> terms(const std::vector<CountedWork>& works, Where where = Where::kHere) {
    std::vector<SumTerm> out;
    out.reserve(works.size());
    for (const CountedWork& w : works) out.push_back({number(w.work, where), w.count});
    return out;
  }
  const std::vector<std::pair<Where, OpWork>>& works() const { return works_; }

 private:
  std::map<std::pair<Where, OpWork>, int> numbers_;
  std::vector<std::pair<Where, OpWork>> works_;
};

// Several measurements of one place are one, their mean.
std::vector<MeasuredWork> by_place(std::vector<MeasuredWork> seen) {
  std::map<std::pair<Where, std::string>, std::vector<MeasuredWork>> places;
  for (MeasuredWork& m : seen) {
    if (m.works.empty() || !(m.time_s > 0)) continue;
    places[{m.where, m.place}].push_back(std::move(m));
  }
  std::vector<MeasuredWork> out;
  for (auto& [place, all] : places) {
    MeasuredWork one = all.front();
    double log_time = 0, log_energy = 0;
    int energies = 0;
    for (const MeasuredWork& m : all) {
      log_time += std::log(m.time_s) / static_cast<double>(all.size());
      if (m.energy_j && *m.energy_j > 0) {
        log_energy += std::log(*m.energy_j / m.time_s);
        ++energies;
      }
      if (!one.host_s) one.host_s = m.host_s;
    }
    one.time_s = std::exp(log_time);
    one.energy_j.reset();
    if (energies > 0) one.energy_j = one.time_s * std::exp(log_energy / energies);
    out.push_back(std::move(one));
  }
  return out;
}

// What calls take that are asked for. Where the time of a work is known, each of its calls takes as much
// longer or shorter; a call of several works goes by the one that it is the largest part of.
Eigen::VectorXd as_known(const std::vector<AskedWork>& asked, const std::vector<AskedSum>& sums,
                         const SumPrediction& told) {
  Eigen::VectorXd values = told.values, largest = Eigen::VectorXd::Zero(told.values.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i].time_s) continue;
    const double longer = std::log(*asked[i].time_s) - told.log_mean(static_cast<Eigen::Index>(i));
    for (std::size_t k = 0; k < sums[i].terms.size(); ++k) {
      const int at = sums[i].terms[k].point;
      const double share = told.shares[i](static_cast<Eigen::Index>(k));
      if (share <= largest(at)) continue;
      largest(at) = share;
      values(at) = told.values(at) + longer;
    }
  }
  return values;
}

}  // namespace

struct WorkModel::Points {
  Numbered numbered;
  std::vector<AskedSum> sums;
  std::vector<WorkPoint> points;
  Eigen::VectorXd mean;
};

struct WorkModel::Told {
  std::vector<AskedSum> sums;
  SumPrediction times, powers;

  WorkCosts costs(const std::vector<AskedWork>& asked) const {
    WorkCosts costs;
    costs.time_s = times.log_mean.array().exp();
    costs.energy_j = (times.log_mean + powers.log_mean).array().exp();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      if (asked[i].works.empty()) costs.time_s(at) = costs.energy_j(at) = 0;
    }
    return costs;
  }
};

WorkModel::WorkModel(std::vector<MeasuredWork> all, bool accelerator, const Relation& relation)
    : WorkModel(std::move(all), accelerator, std::nullopt, relation) {}

WorkModel::WorkModel(std::vector<MeasuredWork> all, const DataSheet& sheet, const Relation& relation)
    : WorkModel(std::move(all), sheet.accelerator, sheet, relation) {}

WorkModel::WorkModel(std::vector<MeasuredWork> all, bool accelerator, std::optional<DataSheet> sheet,
                     const Relation& relation)
    : sheet_(std::move(sheet)),
      roof_(sheet_ ? sheet_->roof() : believed_roof(accelerator)),
      relation_(relation) {
  const std::vector<MeasuredWork> seen = by_place(std::move(all));
  std::vector<TimedWork> timed;
  timed.reserve(seen.size());
  for (const MeasuredWork& m : seen) timed.push_back({m.works, m.time_s});
  roof_ = fitted_roof(roof_, timed, sheet_ ? kOfSheet : kAnyDevice);

  Numbered numbered;
  std::vector<SeenSum> times;
  std::vector<double> host_per_call;
  for (const MeasuredWork& m : seen) {  // those here come first, and are what their places go by
    places_.emplace(m.place, static_cast<int>(times.size()));
    times.push_back({numbered.terms(m.works, m.where), std::log(m.time_s),
                     std::clamp(m.time_error, kLeastWorkError, kMostWorkError)});
    if (m.host_s && *m.host_s > 0) host_per_call.push_back(*m.host_s / std::max(calls_in(m.works), 1.0));
  }
  Eigen::VectorXd mean(static_cast<Eigen::Index>(numbered.works().size()));
  for (const auto& [where, work] : numbered.works()) {
    time_points_.push_back(point_of(work, roof_, names_));
    time_points_.back().where = where;
    mean(static_cast<Eigen::Index>(time_points_.size()) - 1) = time_mean(time_points_.back());
  }
  time_ = std::make_unique<SumProcess>(time_covariance(time_points_, time_points_, relation_.time), mean,
                                       times, kOwnTime);

  // A part's power is that of its calls, each for the time that it takes. Calls of which no energy is known
  // tell nothing about powers.
  std::vector<SeenSum> powers;
  std::map<int, int> power_numbers;  // of points of the times
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const MeasuredWork& m = seen[i];
    if (!m.energy_j) continue;
    SeenSum sum{times[i].terms, std::log(*m.energy_j / m.time_s),
                std::clamp(m.energy_error, kLeastWorkError, kMostWorkError)};
    double total = 0;
    for (SumTerm& t : sum.terms) total += t.weight *= std::exp(time_->values()(t.point));
    for (SumTerm& t : sum.terms) {
      t.weight /= total;
      t.point = power_numbers.try_emplace(t.point, static_cast<int>(power_numbers.size())).first->second;
    }
    mean_log_power_ += sum.log_value;
    power_places_.emplace(m.place, static_cast<int>(powers.size()));
    powers.push_back(std::move(sum));
  }
  mean_log_power_ /= std::max(static_cast<double>(powers.size()), 1.0);
  power_points_.resize(power_numbers.size());
  mean.resize(static_cast<Eigen::Index>(power_numbers.size()));
  for (const auto& [of_time, number] : power_numbers) {
    const auto& [where, work] = numbered.works()[static_cast<std::size_t>(of_time)];
    const double time_s = std::exp(time_->values()(of_time));
    RatePoint& point = power_points_[static_cast<std::size_t>(number)];
    point = rate_point_of(work, roof_, time_s, names_);
    point.where = where;
    mean(number) = log_power_mean(work, time_s);
  }
  power_ = std::make_unique<SumProcess>(power_covariance(power_points_, power_points_, relation_.power), mean,
                                        std::move(powers), kOwnPower);
  if (!host_per_call.empty()) {
    host_per_call_s_ = median(host_per_call);
  } else if (sheet_ && sheet_->accelerator) {
    host_per_call_s_ = kHostPerCall;
  }
}

double WorkModel::log_power_mean(const OpWork& work, double time_s) const {
  return sheet_ ? sheet_log_power(*sheet_, work, time_s) : mean_log_power_;
}

void WorkModel::believe_sheet(const std::vector<AskedWork>& asked, WorkCosts& costs) const {
  if (!sheet_) return;
  const auto told = [&](const std::map<std::string, int>& seen) {
    std::vector<AskedOfSheet> out;
    for (const AskedWork& one : asked) {
      const bool described = std::none_of(one.works.begin(), one.works.end(), [](const CountedWork& w) {
        return w.work.family == OpFamily::kOther;
      });
      out.push_back({seen.count(one.place) > 0, described});
    }
    return out;
  };
  costs.time_covariance = time_belief(std::move(costs.time_covariance), told(places_), places_.size());
  costs.energy_covariance =
      energy_belief(std::move(costs.energy_covariance), told(power_places_), power_places_.size());
}

WorkModel::Points WorkModel::points_of(const std::vector<AskedWork>& asked) const {
  Points points;
  for (const AskedWork& one : asked) {
    const auto seen = places_.find(one.place);
    // What asks for nothing is given a call of next to nothing, since a logarithm needs one.
    const bool nothing = one.works.empty();
    points.sums.push_back(
        {points.numbered.terms(nothing ? std::vector<CountedWork>{{OpWork{}, 1}} : one.works),
         seen == places_.end() ? -1 : seen->second});
  }
  points.mean.resize(static_cast<Eigen::Index>(points.numbered.works().size()));
  for (const auto& [where, work] : points.numbered.works()) {
    points.points.push_back(point_of(work, roof_, names_));
    points.mean(static_cast<Eigen::Index>(points.points.size()) - 1) = time_mean(points.points.back());
  }
  return points;
}

double WorkModel::host_s(const std::vector<CountedWork>& works) const {
  return host_per_call_s_ * calls_in(works);
}

WorkModel::Told WorkModel::told_of(const std::vector<AskedWork>& asked, bool how_sure) const {
  Points points = points_of(asked);
  const Eigen::MatrixXd cross = time_covariance(points.points, time_points_, relation_.time);
  SumPrediction times =
      how_sure ? time_->at(points.sums, cross, time_covariance(points.points, points.points, relation_.time),
                           points.mean)
               : time_->means(points.sums, cross, points.mean);
  const Eigen::VectorXd values = as_known(asked, points.sums, times);
  std::vector<RatePoint> rates;
  for (const auto& [where, work] : points.numbered.works()) {
    const auto row = static_cast<Eigen::Index>(rates.size());
    const double time_s = std::exp(values(row));
    rates.push_back(rate_point_of(work, roof_, time_s, names_));
    points.mean(row) = log_power_mean(work, time_s);
  }
  std::vector<AskedSum> sums = points.sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t k = 0; k < sums[i].terms.size(); ++k)
      sums[i].terms[k].weight = std::max(times.shares[i](static_cast<Eigen::Index>(k)), 1e-300);
    const auto seen = power_places_.find(asked[i].place);
    sums[i].seen = seen == power_places_.end() ? -1 : seen->second;
  }
  const Eigen::MatrixXd cross_of_powers = power_covariance(rates, power_points_, relation_.power);
  SumPrediction powers = how_sure ? power_->at(sums, cross_of_powers,
                                               power_covariance(rates, rates, relation_.power), points.mean)
                                  : power_->means(sums, cross_of_powers, points.mean);
  return {std::move(points.sums), std::move(times), std::move(powers)};
}

WorkBelief WorkModel::believed(const std::vector<AskedWork>& asked) const {
  Told told = told_of(asked, true);
  return {told.times.log_mean.array().exp(), told.powers.log_mean.array().exp(),
          std::move(told.times.log_covariance), std::move(told.powers.log_covariance)};
}

void WorkModel::require_known() const {
  if (!sheet_ && places_.empty())
    throw Error(ErrorKind::kNotProfiled, "nothing was measured on this device yet");
  if (!sheet_ && power_places_.empty())
    throw Error(ErrorKind::kFailed, "no energy was measured on this device yet");
}

WorkCosts WorkModel::means(const std::vector<AskedWork>& asked) const {
  require_known();
  return told_of(asked, false).costs(asked);
}

WorkCosts WorkModel::at(const std::vector<AskedWork>& asked) const {
  require_known();
  const Told told = told_of(asked, true);
  WorkCosts costs = told.costs(asked);
  // What is asked for again needs no caution.
  Eigen::VectorXd caution(costs.time_s.size()), least(costs.time_s.size());
  for (Eigen::Index i = 0; i < caution.size(); ++i) {
    const bool known = told.sums[static_cast<std::size_t>(i)].seen >= 0;
    caution(i) = known ? 1 : kCaution;
    least(i) = known ? 0 : kLeastUnsure;
  }
  const auto cautious = [&](const Eigen::MatrixXd& covariance) -> Eigen::MatrixXd {
    return caution.asDiagonal() * covariance * caution.asDiagonal() + least * least.transpose();
  };
  costs.time_covariance = cautious(told.times.log_covariance);
  costs.energy_covariance =
      cautious(std::pow(1 - kDrawsLess, 2) * told.times.log_covariance + told.powers.log_covariance);
  believe_sheet(asked, costs);
  return costs;
}

}  // namespace ampere
