#include "profile/curriculum.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// Of measuring one work: starting and metering it, and letting it run as often as that takes.
constexpr double kSeconds = 0.45;
constexpr double kRuns = 20;
// A network's energy is its time and its power, and its time is asked for besides.
constexpr double kTimeCounts = 2, kPowerCounts = 1;
constexpr double kMeasured = 0.02;  // relative deviation of what is measured

// A network's logarithms as shares of its candidates' logarithms.
Eigen::MatrixXd shares_of(const std::vector<PopulationSum>& population, const Eigen::VectorXd& costs) {
  Eigen::MatrixXd shares = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(population.size()), costs.size());
  for (Eigen::Index k = 0; k < shares.rows(); ++k) {
    for (const SumTerm& t : population[static_cast<std::size_t>(k)])
      shares(k, t.point) += t.weight * costs(t.point);
    shares.row(k) /= std::max(shares.row(k).sum(), 1e-300);
  }
  return shares;
}

// Of one quantity, while candidates are measured one after the other: a Cholesky factor whose pivots they
// are.
class Conditioned {
 public:
  Conditioned(Eigen::MatrixXd covariance, const Eigen::MatrixXd& shares)
      : covariance_(std::move(covariance)),
        variance_(covariance_.diagonal()),
        of_networks_(shares * covariance_) {}

  // By how much measuring it would lower the variances of all networks together.
  double gain(Eigen::Index j) const { return of_networks_.col(j).squaredNorm() / measured_variance(j); }

  void measure(Eigen::Index j) {
    Eigen::VectorXd column = covariance_.col(j);
    for (const Eigen::VectorXd& before : columns_) column -= before(j) * before;
    const double deviation = std::sqrt(measured_variance(j));
    column /= deviation;
    of_networks_ -= Eigen::VectorXd(of_networks_.col(j) / deviation) * column.transpose();
    variance_ -= column.cwiseAbs2();
    columns_.push_back(std::move(column));
  }

 private:
  double measured_variance(Eigen::Index j) const {
    return std::max(variance_(j), 0.0) + kMeasured * kMeasured;
  }

  Eigen::MatrixXd covariance_;
  Eigen::VectorXd variance_;
  Eigen::MatrixXd of_networks_;  // networks x candidates
  std::vector<Eigen::VectorXd> columns_;
};

}  // namespace

std::vector<int> curriculum(const std::vector<MeasurableWork>& candidates,
                            const std::vector<PopulationSum>& population, const WorkModel& model,
                            std::size_t most) {
  std::vector<int> chosen;
  if (candidates.empty() || population.empty()) return chosen;
  std::vector<AskedWork> asked;
  asked.reserve(candidates.size());
  for (const MeasurableWork& c : candidates) asked.push_back(c.work);
  WorkBelief belief = model.believed(asked);
  Conditioned time(std::move(belief.time_covariance), shares_of(population, belief.time_s));
  Conditioned power(std::move(belief.power_covariance),
                    shares_of(population, belief.time_s.cwiseProduct(belief.power_w)));
  std::vector<bool> taken;
  taken.reserve(candidates.size());
  for (const MeasurableWork& c : candidates) taken.push_back(c.known || c.work.works.empty());
  while (chosen.size() < most) {
    int best = -1;
    double best_worth = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const auto j = static_cast<Eigen::Index>(i);
      const double worth =
          (kTimeCounts * time.gain(j) + kPowerCounts * power.gain(j)) / (kSeconds + kRuns * belief.time_s(j));
      if (worth > best_worth) {
        best_worth = worth;
        best = static_cast<int>(i);
      }
    }
    if (best < 0) break;
    taken[static_cast<std::size_t>(best)] = true;
    time.measure(best);
    power.measure(best);
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace ampere
