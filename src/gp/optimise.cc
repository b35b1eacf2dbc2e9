#include "gp/optimise.h"

#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <nlopt.hpp>
#include <vector>

#include "base/error.h"

namespace ampere {
namespace {

// What passes through NLopt's C callback.
struct Search {
  const Objective& objective;
  Maximum best;
  Eigen::VectorXd x;
  Eigen::VectorXd gradient;
  std::exception_ptr error;  // thrown by the objective, which must not pass through C
};

// A finite stand-in where the function is not: NLopt's line search does arithmetic with it.
constexpr double kWorst = -1e100;

double evaluate_objective(Search* search) {
  try {
    return search->objective(search->x, &search->gradient);
  } catch (...) {
    search->error = std::current_exception();
    throw nlopt::forced_stop();
  }
}

double evaluate(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto size = static_cast<Eigen::Index>(x.size());
  search.x = Eigen::Map<const Eigen::VectorXd>(x.data(), size);
  double value = evaluate_objective(&search);
  if (!std::isfinite(value) || !search.gradient.allFinite()) {
    value = kWorst;
    search.gradient.setZero();
  } else if (value > search.best.value) {
    search.best.value = value;
    search.best.x = search.x;
  }
  if (!gradient.empty()) Eigen::Map<Eigen::VectorXd>(gradient.data(), size) = search.gradient;
  return value;
}

std::vector<double> to_std(const Eigen::VectorXd& v) { return {v.data(), v.data() + v.size()}; }

}  // namespace

Maximum maximise(const Objective& objective, const Eigen::VectorXd& start, const Eigen::VectorXd& lower,
                 const Eigen::VectorXd& upper, double tolerance, int evaluations) {
  const Eigen::VectorXd inside = start.cwiseMax(lower).cwiseMin(upper);
  const double none = -std::numeric_limits<double>::infinity();
  Search search{objective, Maximum{inside, none}, inside, Eigen::VectorXd::Zero(start.size()), nullptr};
  try {
    nlopt::opt optimiser(nlopt::LD_LBFGS, static_cast<unsigned>(start.size()));
    optimiser.set_lower_bounds(to_std(lower));
    optimiser.set_upper_bounds(to_std(upper));
    optimiser.set_max_objective(evaluate, &search);
    optimiser.set_ftol_abs(tolerance);
    optimiser.set_maxeval(evaluations);
    std::vector<double> x = to_std(inside);
    double value = 0;
    optimiser.optimize(x, value);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory, "out of memory while fitting a Gaussian process");
  } catch (const std::exception&) {
    // NLopt reports a line search that cannot improve any more as a failure; the best point is still good.
  }
  if (search.error) std::rethrow_exception(search.error);
  return search.best;
}

}  // namespace ampere
