#include "gp/sum_process.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "gp/cholesky.h"

namespace ampere {
namespace {

// The sums are made straight around what their terms were last believed to be. Where one term makes up most
// of each sum, shares settle in three or four rounds; where several do, a whole step may overshoot, and is
// halved until it is better than none.
constexpr int kRounds = 20;
constexpr int kHalvings = 8;
constexpr double kSettled = 0.001;  // of the misfit, for each sum, that a round gains

// The sum's logarithm; `terms` become shares of it.
double log_sum(std::vector<SumTerm>& terms, const Eigen::VectorXd& values) {
  double largest = -INFINITY;
  for (SumTerm& t : terms) {
    t.weight = std::log(t.weight) + values(t.point);
    largest = std::max(largest, t.weight);
  }
  double sum = 0;
  for (SumTerm& t : terms) sum += t.weight = std::exp(t.weight - largest);
  for (SumTerm& t : terms) t.weight /= sum;
  return largest + std::log(sum);
}

Eigen::MatrixXd lower_solve(const Eigen::MatrixXd& factor, const Eigen::MatrixXd& right) {
  return factor.triangularView<Eigen::Lower>().solve(right);
}

// rows * W^T
Eigen::MatrixXd times_shares(const Eigen::MatrixXd& rows, const std::vector<SeenSum>& seen) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(rows.rows(), static_cast<Eigen::Index>(seen.size()));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const SumTerm& t : seen[i].terms)
      out.col(static_cast<Eigen::Index>(i)) += t.weight * rows.col(t.point);
  }
  return out;
}

}  // namespace

SumProcess::SumProcess(const Eigen::MatrixXd& covariance, Eigen::VectorXd mean, std::vector<SeenSum> seen,
                       double own)
    : seen_(seen), own_(own), values_(mean) {
  const auto n = static_cast<Eigen::Index>(seen.size());
  if (n == 0) return;
  // Values are mean + covariance * behind.
  Eigen::VectorXd behind = Eigen::VectorXd::Zero(mean.size());
  const auto variance_of = [&](const SeenSum& one) { return own_ * own_ + one.error * one.error; };
  const auto misfit = [&](const Eigen::VectorXd& values, const Eigen::VectorXd& by) {
    double sum = by.dot(values - mean);
    for (const SeenSum& one : seen) {
      std::vector<SumTerm> terms = one.terms;
      const double off = one.log_value - log_sum(terms, values);
      sum += off * off / variance_of(one);
    }
    return sum;
  };
  double gained = INFINITY;
  for (int round = 0;; ++round) {
    Eigen::VectorXd rest(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      SeenSum& one = seen_[static_cast<std::size_t>(i)];
      one.terms = seen[static_cast<std::size_t>(i)].terms;
      rest(i) = one.log_value - log_sum(one.terms, values_);
      for (const SumTerm& t : one.terms) rest(i) += t.weight * (values_(t.point) - mean(t.point));
    }
    const Eigen::MatrixXd points_with_sums = times_shares(covariance, seen_);  // points x sums
    const Eigen::MatrixXd sums_with_points = points_with_sums.transpose();  // columns lie together in memory
    factor_ = Eigen::MatrixXd::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const SeenSum& one = seen_[static_cast<std::size_t>(i)];
      for (const SumTerm& t : one.terms) factor_.col(i) += t.weight * sums_with_points.col(t.point);
      factor_(i, i) += variance_of(one);
    }
    if (!cholesky_in_place(&factor_))
      throw Error(ErrorKind::kFailed, "the covariance of what was measured is not positive definite");
    solved_ = lower_solve(factor_, rest);
    factor_.triangularView<Eigen::Lower>().adjoint().solveInPlace(solved_);
    if (gained < kSettled * static_cast<double>(n) || round == kRounds) break;

    Eigen::VectorXd towards = -behind;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (const SumTerm& t : seen_[static_cast<std::size_t>(i)].terms)
        towards(t.point) += t.weight * solved_(i);
    }
    const Eigen::VectorXd step = mean + points_with_sums * solved_ - values_;
    const double before = misfit(values_, behind);
    double length = 1, after = misfit(values_ + step, behind + towards);
    for (int i = 0; i < kHalvings && !(after < before); ++i) {
      length /= 2;
      after = misfit(values_ + length * step, behind + length * towards);
    }
    values_ += length * step;
    behind += length * towards;
    gained = before - after;
  }
}

Eigen::MatrixXd SumProcess::with_seen(const Eigen::MatrixXd& cross) const {
  return times_shares(cross, seen_);
}

Eigen::VectorXd SumProcess::means_at(const Eigen::MatrixXd& cross, const Eigen::VectorXd& mean) const {
  if (seen_.empty()) return mean;
  return mean + with_seen(cross) * solved_;
}

SumPrediction SumProcess::at(const std::vector<AskedSum>& sums, const Eigen::MatrixXd& cross,
                             const Eigen::MatrixXd& covariance, const Eigen::VectorXd& mean) const {
  const auto count = static_cast<Eigen::Index>(sums.size()), points = mean.size();
  const auto n = static_cast<Eigen::Index>(seen_.size());
  const Eigen::MatrixXd points_with_seen = with_seen(cross);
  const Eigen::VectorXd values = n > 0 ? Eigen::VectorXd(mean + points_with_seen * solved_) : mean;
  SumPrediction out;
  out.log_mean.resize(count);
  Eigen::MatrixXd shares = Eigen::MatrixXd::Zero(count, points);
  for (Eigen::Index i = 0; i < count; ++i) {
    std::vector<SumTerm> terms = sums[static_cast<std::size_t>(i)].terms;
    out.log_mean(i) = log_sum(terms, values);
    Eigen::VectorXd of_terms(static_cast<Eigen::Index>(terms.size()));
    for (std::size_t k = 0; k < terms.size(); ++k) {
      shares(i, terms[k].point) += terms[k].weight;
      of_terms(static_cast<Eigen::Index>(k)) = terms[k].weight;
    }
    out.shares.push_back(std::move(of_terms));
  }
  out.log_covariance = shares * covariance * shares.transpose();
  out.log_covariance.diagonal().array() += own_ * own_;
  if (n == 0) return out;
  Eigen::MatrixXd sums_with_seen = shares * points_with_seen;
  for (Eigen::Index i = 0; i < count; ++i) {
    const int same = sums[static_cast<std::size_t>(i)].seen;
    if (same < 0) continue;
    sums_with_seen(i, same) += own_ * own_;
    out.log_mean(i) += own_ * own_ * solved_(same);
  }
  const Eigen::MatrixXd half = lower_solve(factor_, sums_with_seen.transpose());
  out.log_covariance -= half.transpose() * half;
  return out;
}

}  // namespace ampere
