#include "gp/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gp/cholesky.h"

namespace ampere {
namespace {

// Fewer observations on one side are no side.
constexpr Eigen::Index kFewestBeside = 3;
// How far apart the two sides are taken for while looking, in length-scales: nearly unrelated.
constexpr double kApart = 2;
// A step explains what was noise before it was found: shares of the noise to try.
constexpr double kNoiseShares[] = {1, 0.1};
// Values whose log likelihood is this close to the best may be where the step is.
constexpr double kUndecided = 2;
// Evidence beyond that of choosing among candidates: the length-scale of a step is one more number.
constexpr double kLeastGain = 1;

struct Candidate {
  InputStep step;
  double likelihood = -std::numeric_limits<double>::infinity();
};

// Between all neighbouring values of the inputs that have observations enough on both sides,
// column by column in order.
std::vector<Candidate> candidates_of(const Eigen::MatrixXd& x) {
  std::vector<Candidate> all;
  for (Eigen::Index c = 0; c < x.cols(); ++c) {
    std::vector<double> values(x.col(c).begin(), x.col(c).end());
    std::sort(values.begin(), values.end());
    for (auto i = static_cast<std::size_t>(kFewestBeside); i + kFewestBeside <= values.size(); ++i) {
      if (values[i - 1] < values[i]) all.push_back({{c, values[i - 1], values[i]}});
    }
  }
  return all;
}

// The likelihood of a step in addition to what a process has, its scale as likely as can be and its other
// hyperparameters as they are.
class Screen {
 public:
  Screen(const Gp& gp, KernelType kernel)
      : data_(gp.data()), y_(data_.y.array() - data_.y.mean()), kernel_(kernel) {
    const Hyperparameters& h = gp.hyperparameters();
    const Eigen::MatrixXd scaled = data_.x * h.length_scales.cwiseInverse().asDiagonal();
    const Eigen::Index n = data_.x.rows();
    squares_.resize(n, n);
    for (Eigen::Index j = 0; j < n; ++j)
      squares_.col(j) = (scaled.rowwise() - scaled.row(j)).rowwise().squaredNorm();
    noise_ = data_.noise_weights * std::pow(h.noise_sd / h.signal_sd, 2);
  }

  double likelihood(const InputStep& step) {
    const Eigen::Index n = squares_.rows();
    const Eigen::ArrayXd side = (data_.x.col(step.column).array() > step.from).cast<double>();
    correlation_ = squares_;
    for (Eigen::Index j = 0; j < n; ++j)
      correlation_.col(j).array() += kApart * kApart * (side - side(j)).square();
    correlate(kernel_, static_cast<std::size_t>(n * n), correlation_.data(), correlation_.data(), nullptr);
    double best = -std::numeric_limits<double>::infinity();
    for (const double share : kNoiseShares) {
      factor_.chol = correlation_;
      factor_.chol.diagonal() += share * noise_;
      factor_.chol.diagonal().array() += kJitter;
      if (!condition(y_, &factor_)) continue;
      // Of all multiples of the covariance, the likeliest: squares / n times it.
      const double squares = std::max(y_.dot(factor_.alpha), std::numeric_limits<double>::min());
      const auto count = static_cast<double>(n);
      best = std::max(best,
                      factor_.log_likelihood + 0.5 * (squares - count - count * std::log(squares / count)));
    }
    return best;
  }

 private:
  static constexpr double kJitter = 1e-9;

  const GpData& data_;
  Eigen::VectorXd y_;
  KernelType kernel_;
  Eigen::MatrixXd squares_, correlation_;
  Eigen::VectorXd noise_;
  Conditioning factor_;
};

// The likeliest, as wide as the values around it are nearly as likely.
InputStep likeliest(const std::vector<Candidate>& all) {
  auto best = std::max_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.likelihood < b.likelihood;
  });
  const auto possible = [&](const Candidate& c) {
    return c.step.column == best->step.column && c.likelihood > best->likelihood - kUndecided;
  };
  auto first = best, last = best;
  while (first != all.begin() && possible(*std::prev(first))) --first;
  while (std::next(last) != all.end() && possible(*std::next(last))) ++last;
  return {best->step.column, first->step.from, last->step.to};
}

}  // namespace

double InputStep::at(double x) const { return std::clamp((x - from) / (to - from), 0.0, 1.0); }

Eigen::MatrixXd with_steps(const Eigen::MatrixXd& x, const std::vector<InputStep>& steps) {
  const auto count = static_cast<Eigen::Index>(steps.size());
  Eigen::MatrixXd out(x.rows(), x.cols() + count);
  out.leftCols(x.cols()) = x;
  for (Eigen::Index i = 0; i < count; ++i) {
    const InputStep& step = steps[static_cast<std::size_t>(i)];
    out.col(x.cols() + i) = x.col(step.column).unaryExpr([&](double v) { return step.at(v); });
  }
  return out;
}

Eigen::VectorXd SteppedGp::undecided(const Eigen::MatrixXd& rows) const {
  Eigen::VectorXd variance = Eigen::VectorXd::Zero(rows.rows());
  const Eigen::Index first = rows.cols() - static_cast<Eigen::Index>(steps.size());
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    for (Eigen::Index column = first; column < rows.cols(); ++column) {
      const double share = rows(i, column);
      if (share <= 0 || share >= 1) continue;
      Eigen::VectorXd row = rows.row(i);
      row(column) = 0;
      const double below = gp.mean_at(row.data());
      row(column) = 1;
      const double step = gp.mean_at(row.data()) - below;
      variance(i) += share * (1 - share) * step * step;
    }
  }
  return variance;
}

SteppedGp fit_given_steps(GpData data, GpOptions options, std::vector<InputStep> steps,
                          Hyperparameters start) {
  data.x = with_steps(data.x, steps);
  options.restarts = 0;
  options.start = std::move(start);
  return {std::move(steps), Gp::fit(std::move(data), options)};
}

SteppedGp fit_with_steps(const GpData& data, const GpOptions& options, int most) {
  SteppedGp fitted{{}, Gp::fit(data, options)};
  std::vector<Candidate> all = candidates_of(data.x);
  if (all.empty()) return fitted;
  const double least = std::log(static_cast<double>(all.size())) + kLeastGain;
  for (int i = 0; i < most; ++i) {
    Screen screen(fitted.gp, options.kernel);
    for (Candidate& c : all) c.likelihood = screen.likelihood(c.step);
    std::vector<InputStep> steps = fitted.steps;
    steps.push_back(likeliest(all));
    Hyperparameters start = fitted.gp.hyperparameters();
    Eigen::VectorXd& lengths = start.length_scales;
    lengths.conservativeResize(lengths.size() + 1);
    lengths(lengths.size() - 1) = 1 / kApart;
    SteppedGp more = fit_given_steps(data, options, std::move(steps), std::move(start));
    if (more.gp.log_marginal_likelihood() < fitted.gp.log_marginal_likelihood() + least) break;
    fitted = std::move(more);
  }
  return fitted;
}

}  // namespace ampere
