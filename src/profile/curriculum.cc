#include "profile/curriculum.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/work_covariance.h"

namespace ampere {
namespace {

constexpr double kMeasured = 0.03;  // relative deviation of what is measured

struct Prior {
  Eigen::MatrixXd covariance;  // of the candidates' logarithms
  Eigen::VectorXd log_time;
};

Prior prior_of(const std::vector<MeasurableWork>& candidates, const Roof& roof) {
  WorkNames names;
  std::map<OpWork, int> numbers;
  std::vector<WorkPoint> points;
  std::vector<std::vector<SumTerm>> terms;
  for (const MeasurableWork& c : candidates) {
    std::vector<SumTerm> shares;
    for (const CountedWork& w : c.works) {
      const auto [at, is_new] = numbers.try_emplace(w.work, static_cast<int>(points.size()));
      if (is_new) points.push_back(point_of(w.work, roof, names));
      shares.push_back(
          {at->second, w.count * std::exp(time_mean(points[static_cast<std::size_t>(at->second)]))});
    }
    terms.push_back(std::move(shares));
  }
  const Eigen::MatrixXd of_points = time_covariance(points, points);
  const auto n = static_cast<Eigen::Index>(candidates.size());
  Prior prior{Eigen::MatrixXd(n, n), Eigen::VectorXd(n)};
  Eigen::MatrixXd half(of_points.rows(), n);  // points x candidates
  for (Eigen::Index j = 0; j < n; ++j) {
    double sum = 0;
    for (const SumTerm& t : terms[static_cast<std::size_t>(j)]) sum += t.weight;
    prior.log_time(j) = std::log(std::max(sum, 1e-12));
    half.col(j).setZero();
    for (SumTerm& t : terms[static_cast<std::size_t>(j)])
      half.col(j) += (t.weight /= sum) * of_points.col(t.point);
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    prior.covariance.row(i).setZero();
    for (const SumTerm& t : terms[static_cast<std::size_t>(i)])
      prior.covariance.row(i) += t.weight * half.row(t.point);
  }
  return prior;
}

}  // namespace

std::vector<int> curriculum(const std::vector<MeasurableWork>& candidates,
                            const std::vector<PopulationSum>& population, const Roof& roof,
                            std::size_t most) {
  std::vector<int> chosen;
  if (candidates.empty() || population.empty()) return chosen;
  const Prior prior = prior_of(candidates, roof);
  const auto n = static_cast<Eigen::Index>(candidates.size());
  const auto networks = static_cast<Eigen::Index>(population.size());
  Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(networks, n);  // covariance of networks with candidates
  for (Eigen::Index k = 0; k < networks; ++k) {
    double total = 0;
    for (const SumTerm& t : population[static_cast<std::size_t>(k)])
      total += t.weight * std::exp(prior.log_time(t.point));
    for (const SumTerm& t : population[static_cast<std::size_t>(k)])
      sums.row(k) += t.weight * std::exp(prior.log_time(t.point)) / total * prior.covariance.row(t.point);
  }
  Eigen::VectorXd variance = prior.covariance.diagonal();
  std::vector<bool> taken(candidates.size(), false);
  std::vector<Eigen::VectorXd> columns;  // of a Cholesky factor with pivots
  const auto take = [&](Eigen::Index j) {
    taken[static_cast<std::size_t>(j)] = true;
    Eigen::VectorXd column = prior.covariance.col(j);
    for (const Eigen::VectorXd& before : columns) column -= before(j) * before;
    column /= std::sqrt(std::max(variance(j), 0.0) + kMeasured * kMeasured);
    const Eigen::VectorXd of_sums =
        sums.col(j) / std::sqrt(std::max(variance(j), 0.0) + kMeasured * kMeasured);
    sums -= of_sums * column.transpose();
    variance -= column.cwiseAbs2();
    columns.push_back(std::move(column));
  };
  for (Eigen::Index j = 0; j < n; ++j) {
    if (candidates[static_cast<std::size_t>(j)].known) take(j);
  }
  while (chosen.size() < most) {
    Eigen::Index best = -1;
    double best_worth = 0;
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto place = static_cast<std::size_t>(j);
      if (taken[place]) continue;
      const double worth = sums.col(j).squaredNorm() / (std::max(variance(j), 0.0) + kMeasured * kMeasured) /
                           std::max(candidates[place].seconds, 1e-3);
      if (worth > best_worth) {
        best_worth = worth;
        best = j;
      }
    }
    if (best < 0) break;
    take(best);
    chosen.push_back(static_cast<int>(best));
  }
  return chosen;
}

}  // namespace ampere
