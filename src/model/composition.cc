#include "model/composition.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/statistics.h"

namespace ampere {
namespace {

// How far single networks are believed to be off besides, and how many networks that belief is worth.
constexpr double kSpread = 0.02;
constexpr double kSpreadWeight = 2;
constexpr double kLeastSpread = 0.004;
// A network much smaller than any that was trained is not believed to be all fixed part.
constexpr double kMostRatio = 4;
// A whole that is many times its layers says that these tell nothing of it: no more than this is learned.
constexpr double kMostAdded = 2;

const char* to_word(Part part) {
  switch (part) {
    case Part::kEnergy:
      return "energy";
    case Part::kTime:
      return "time";
    case Part::kDeviceTime:
      return "device-time";
    case Part::kDeviceEnergy:
      return "device-energy";
    default:
      return "host-time";
  }
}

std::string fact_name(const std::string& method, const std::string& family, Part part) {
  return "composition/" + method + "/" + family + "/" + to_word(part);
}

// Intervals are taken as if the spread were well known: stretched to give the 95% interval of Student's t.
double stretch_of(double freedom) {
  const boost::math::students_t t(freedom);
  return boost::math::quantile(t, 0.975) / kZ95;
}

}  // namespace

double CompositionError::factor(double sum) const {
  const double at_reference = std::exp(log_bias);
  if (!(reference_sum > 0) || !(sum > 0)) return at_reference;
  return std::max(at_reference + fixed_share * (std::min(reference_sum / sum, kMostRatio) - 1), 0.5);
}

// whole / sum = 1 + proportion + fixed_share (reference_sum / sum) + error: a conjugate regression, with
// normal beliefs about both parts in units of the error, whose variance has an inverse gamma one (Bishop
// 2006, exercise 3.12): what is told of another network is Student's t.
CompositionError learn_composition(const std::vector<WholeComparison>& compared,
                                   const CompositionBelief& belief) {
  CompositionError error;
  error.networks = static_cast<int>(compared.size());
  if (compared.empty()) return error;
  const auto n = static_cast<Eigen::Index>(compared.size());
  double log_mean = 0;
  for (const WholeComparison& c : compared) log_mean += std::log(c.estimated) / static_cast<double>(n);
  if (belief.fixed > 0) error.reference_sum = std::exp(log_mean);
  constexpr double spread = kSpread * kSpread;
  Eigen::MatrixX2d x(n, 2);
  Eigen::VectorXd y(n), weight(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const WholeComparison& c = compared[static_cast<std::size_t>(i)];
    x.row(i) << 1, error.reference_sum / c.estimated;
    y(i) = std::min(c.measured / c.estimated - 1, kMostAdded);
    weight(i) = spread / (spread + c.variance / (c.estimated * c.estimated));
  }
  const Eigen::Vector2d before(spread / (belief.proportion * belief.proportion),
                               belief.fixed > 0 ? spread / (belief.fixed * belief.fixed) : 1);
  const Eigen::Matrix2d precision =
      x.transpose() * weight.asDiagonal() * x + Eigen::Matrix2d(before.asDiagonal());
  const Eigen::Matrix2d unsure = precision.inverse();
  const Eigen::Vector2d parts = unsure * (x.transpose() * weight.cwiseProduct(y));
  error.fixed_share = parts(1);
  error.log_bias = std::log(std::max(1 + parts.sum(), 0.5));
  const double freedom = kSpreadWeight + static_cast<double>(n);
  const double residual = (kSpreadWeight * spread + y.cwiseProduct(weight).dot(y - x * parts)) / freedom;
  const Eigen::Vector2d another(1, belief.fixed > 0 ? 1 : 0);
  const double unknown = 1 + another.dot(unsure * another);
  error.deviation = std::max(kLeastSpread, stretch_of(freedom) * std::sqrt(residual * unknown));
  return error;
}

CompositionError composition_of(const DeviceProfile& profile, const std::string& method,
                                const std::string& family, Part part) {
  const auto fact = profile.fact(fact_name(method, family, part));
  if (!fact) return {};
  JsonReader r(*fact, "composition");
  return {r.number("log_bias"), r.number("deviation"), static_cast<int>(r.integer("networks")),
          r.number("fixed_share", 0), r.number("typical", 0)};
}

void keep_composition(const DeviceProfile& profile, const std::string& method, const std::string& family,
                      Part part, const CompositionError& error) {
  profile.store().put_fact(profile.device(), profile.recipe(), fact_name(method, family, part),
                           {{"log_bias", error.log_bias},
                            {"deviation", error.deviation},
                            {"networks", error.networks},
                            {"fixed_share", error.fixed_share},
                            {"typical", error.reference_sum}});
  profile.forget_facts();
}

}  // namespace ampere
