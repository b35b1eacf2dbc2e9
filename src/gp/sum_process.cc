#include "gp/sum_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/deadline.h"
#include "base/error.h"
#include "base/parallel.h"
#include "gp/large_cholesky.h"

namespace ampere {
namespace {

// The sums are made straight around what their terms were last believed to be. Where one term makes up most
// of each sum, shares settle in three or four rounds; where several do, a whole step may overshoot, and is
// halved until it is better than none.
constexpr int kRounds = 20;
constexpr int kHalvings = 8;
constexpr double kSettled = 0.001;     // of the misfit, for each sum, that a round gains
constexpr double kLeastGained = 0.01;  // or of all that is left of it
constexpr std::size_t kColumns = 16;   // that one core goes through together

// The logarithm of a sum.
double log_sum(const std::vector<SumTerm>& terms, const Eigen::VectorXd& values) {
  double largest = -INFINITY, sum = 0;
  for (const SumTerm& t : terms) largest = std::max(largest, std::log(t.weight) + values(t.point));
  for (const SumTerm& t : terms) sum += std::exp(std::log(t.weight) + values(t.point) - largest);
  return largest + std::log(sum);
}

// Makes terms shares of their sum, whose logarithm it returns.
double to_shares(std::vector<SumTerm>& terms, const Eigen::VectorXd& values) {
  const double log_value = log_sum(terms, values);
  for (SumTerm& t : terms) t.weight = std::exp(std::log(t.weight) + values(t.point) - log_value);
  return log_value;
}

// What a single term has does not depend on what is believed of it: those come first, and stay as they are.
bool is_straight(const SeenSum& sum) { return sum.terms.size() == 1; }

double share_of(const std::vector<SumTerm>& terms, const double* values) {
  double sum = 0;
  for (const SumTerm& t : terms) sum += t.weight * values[t.point];
  return sum;
}

// Each column of what is of points, as it is of sums of them. Sums have few terms.
Eigen::MatrixXd of_sums(const std::vector<std::vector<SumTerm>>& shares, const Eigen::MatrixXd& of_points) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(shares.size()), of_points.cols());
  for (Eigen::Index j = 0; j < out.cols(); ++j) {
    for (Eigen::Index i = 0; i < out.rows(); ++i)
      out(i, j) = share_of(shares[static_cast<std::size_t>(i)], of_points.col(j).data());
  }
  return out;
}

// The covariances of measured sums, in rows from `first` on, lower half; those before have one term each.
void fill_covariances(const Eigen::MatrixXd& of_points, const std::vector<std::vector<SumTerm>>& sums,
                      Eigen::Index first, Eigen::MatrixXd& out) {
  const auto rest = static_cast<std::size_t>(out.rows() - first);
  in_parallel(rest, kColumns, [&](std::size_t begin, std::size_t end) {
    Eigen::VectorXd with_points(of_points.rows());
    for (std::size_t at = begin; at < end; ++at) {
      const Eigen::Index j = first + static_cast<Eigen::Index>(at);
      with_points.setZero();
      for (const SumTerm& t : sums[static_cast<std::size_t>(j)])
        with_points += t.weight * of_points.col(t.point);
      for (Eigen::Index i = 0; i < first; ++i)
        out(j, i) = with_points(sums[static_cast<std::size_t>(i)].front().point);
      for (Eigen::Index i = j; i < out.rows(); ++i)
        out(i, j) = share_of(sums[static_cast<std::size_t>(i)], with_points.data());
    }
  });
}

// A covariance, both halves of which are there, with a vector.
Eigen::VectorXd times(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& x) {
  Eigen::VectorXd out(covariance.rows());
  in_parallel(static_cast<std::size_t>(covariance.cols()), kColumns, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Eigen::Index>(begin), count = static_cast<Eigen::Index>(end - begin);
    out.segment(first, count).noalias() = covariance.middleCols(first, count).transpose() * x;
  });
  return out;
}

Error not_positive_definite() {
  return Error(ErrorKind::kFailed, "the covariance of what was measured is not positive definite");
}

}  // namespace

SumProcess::SumProcess(const Eigen::MatrixXd& covariance, Eigen::VectorXd mean, std::vector<SeenSum> seen,
                       double own)
    : own_(own), values_(mean), rows_(seen.size()) {
  const auto n = static_cast<Eigen::Index>(seen.size());
  if (n == 0) return;
  std::vector<std::size_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto bent =
      std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return is_straight(seen[i]); });
  const Eigen::Index straight = bent - order.begin();
  std::vector<SeenSum> given;
  for (const std::size_t i : order) {
    rows_[i] = static_cast<int>(given.size());
    given.push_back(std::move(seen[i]));
  }

  Eigen::VectorXd variance(n);
  for (Eigen::Index i = 0; i < n; ++i)
    variance(i) = own_ * own_ + std::pow(given[static_cast<std::size_t>(i)].error, 2);
  // Values are mean + covariance * behind.
  behind_ = Eigen::VectorXd::Zero(mean.size());
  const auto misfit = [&](const Eigen::VectorXd& values, const Eigen::VectorXd& by) {
    double sum = by.dot(values - mean);
    for (Eigen::Index i = 0; i < n; ++i) {
      const SeenSum& one = given[static_cast<std::size_t>(i)];
      sum += std::pow(one.log_value - log_sum(one.terms, values), 2) / variance(i);
    }
    return sum;
  };
  Eigen::MatrixXd factor(n, n);
  // What single terms tell comes first: around that, the shares of the others are nearly right.
  if (straight > 0) {
    const auto single = [&](Eigen::Index i) {
      return given[static_cast<std::size_t>(i)].terms.front().point;
    };
    Eigen::MatrixXd head(straight, straight);
    for (Eigen::Index i = 0; i < straight; ++i) {
      const double* column = covariance.col(single(i)).data();
      for (Eigen::Index j = i; j < straight; ++j) head(j, i) = column[single(j)];
    }
    head.diagonal() += variance.head(straight);
    if (!continue_cholesky(&head, 0)) throw not_positive_definite();
    Eigen::VectorXd told(straight);
    for (Eigen::Index i = 0; i < straight; ++i) {
      const SeenSum& one = given[static_cast<std::size_t>(i)];
      told(i) = one.log_value - log_sum(one.terms, mean);
    }
    head.triangularView<Eigen::Lower>().solveInPlace(told);
    head.triangularView<Eigen::Lower>().adjoint().solveInPlace(told);
    for (Eigen::Index i = 0; i < straight; ++i) behind_(single(i)) += told(i);
    values_ = mean + times(covariance, behind_);
    factor.topLeftCorner(straight, straight) = head;
  }
  double before = misfit(values_, behind_);
  for (int round = 0;; ++round) {
    shares_.clear();
    Eigen::VectorXd rest(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const SeenSum& one = given[static_cast<std::size_t>(i)];
      shares_.push_back(one.terms);
      rest(i) = one.log_value - to_shares(shares_.back(), values_);
      for (const SumTerm& t : shares_.back()) rest(i) += t.weight * (values_(t.point) - mean(t.point));
    }
    fill_covariances(covariance, shares_, straight, factor);
    factor.diagonal().tail(n - straight) += variance.tail(n - straight);
    if (!continue_cholesky(&factor, straight)) throw not_positive_definite();
    solved_ = factor.triangularView<Eigen::Lower>().solve(rest);
    factor.triangularView<Eigen::Lower>().adjoint().solveInPlace(solved_);
    Eigen::VectorXd towards = -behind_;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (const SumTerm& t : shares_[static_cast<std::size_t>(i)]) towards(t.point) += t.weight * solved_(i);
    }
    const Eigen::VectorXd step = times(covariance, towards);
    double length = 1, after = misfit(values_ + step, behind_ + towards);
    for (int i = 0; i < kHalvings && !(after < before); ++i) {
      length /= 2;
      after = misfit(values_ + length * step, behind_ + length * towards);
    }
    if (!(after < before)) break;  // none is better
    values_ += length * step;
    behind_ += length * towards;
    const double gained = before - after;
    before = after;
    const bool settled = gained < std::max(kSettled * static_cast<double>(n), kLeastGained * before);
    if ((settled && length == 1) || round == kRounds || straight == n) break;
  }
  factor_ = PackedFactor(factor);
  // What is left of each, as at the very solution: the last step may have been shortened.
  for (Eigen::Index i = 0; i < n; ++i) {
    const SeenSum& one = given[static_cast<std::size_t>(i)];
    solved_(i) = (one.log_value - log_sum(one.terms, values_)) / variance(i);
  }
}

SumPrediction SumProcess::means(const std::vector<AskedSum>& sums, const Eigen::MatrixXd& cross,
                                const Eigen::VectorXd& mean) const {
  const auto count = static_cast<Eigen::Index>(sums.size());
  SumPrediction out;
  out.values = shares_.empty() ? mean : Eigen::VectorXd(mean + cross * behind_);
  out.log_mean.resize(count);
  out.shares.reserve(sums.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    const AskedSum& asked = sums[static_cast<std::size_t>(i)];
    std::vector<SumTerm> terms = asked.terms;
    out.log_mean(i) = to_shares(terms, out.values);
    Eigen::VectorXd of_terms(static_cast<Eigen::Index>(terms.size()));
    for (std::size_t k = 0; k < terms.size(); ++k) of_terms(static_cast<Eigen::Index>(k)) = terms[k].weight;
    out.shares.push_back(std::move(of_terms));
    if (asked.seen >= 0)
      out.log_mean(i) += own_ * own_ * solved_(rows_[static_cast<std::size_t>(asked.seen)]);
  }
  return out;
}

SumPrediction SumProcess::at(const std::vector<AskedSum>& sums, const Eigen::MatrixXd& cross,
                             const Eigen::MatrixXd& covariance, const Eigen::VectorXd& mean) const {
  const auto count = static_cast<Eigen::Index>(sums.size());
  const auto n = static_cast<Eigen::Index>(shares_.size());
  SumPrediction out = means(sums, cross, mean);
  std::vector<std::vector<SumTerm>> shares;
  shares.reserve(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    shares.push_back(sums[i].terms);
    for (std::size_t k = 0; k < shares[i].size(); ++k)
      shares[i][k].weight = out.shares[i](static_cast<Eigen::Index>(k));
  }
  const Eigen::MatrixXd half = of_sums(shares, covariance);  // sums x points
  out.log_covariance = of_sums(shares, half.transpose());
  out.log_covariance.diagonal().array() += own_ * own_;
  if (n == 0) return out;
  const Eigen::MatrixXd with_points = of_sums(shares, cross).transpose();  // of the process x sums
  Eigen::MatrixXd with_seen = of_sums(shares_, with_points);
  for (Eigen::Index i = 0; i < count; ++i) {
    const int same = sums[static_cast<std::size_t>(i)].seen;
    if (same >= 0) with_seen(rows_[static_cast<std::size_t>(same)], i) += own_ * own_;
  }
  // Some sums at a time, since they may be thousands.
  constexpr Eigen::Index kTogether = 64;
  for (Eigen::Index i = 0; i < count; i += kTogether) {
    check_deadline();
    factor_.solve(with_seen.middleCols(i, std::min(kTogether, count - i)));
  }
  out.log_covariance.selfadjointView<Eigen::Lower>().rankUpdate(with_seen.transpose(), -1);
  out.log_covariance.triangularView<Eigen::StrictlyUpper>() = out.log_covariance.transpose();
  return out;
}

}  // namespace ampere
