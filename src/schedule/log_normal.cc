#include "schedule/log_normal.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace ampere {

double normal_quantile(double probability) {
  return boost::math::quantile(boost::math::normal(), probability);
}

LogNormal LogNormal::from_interval(double value, double high) {
  return {value, value > 0 && high > value ? std::log(high / value) / normal_quantile(0.975) : 0};
}

LogNormal LogNormal::from_mean(double mean, double deviation) {
  const double relative = deviation / mean;
  const double variance = std::log1p(relative * relative);
  return {mean * std::exp(-variance / 2), std::sqrt(variance)};
}

double LogNormal::mean() const { return median * std::exp(sigma * sigma / 2); }

double LogNormal::quantile(double probability) const {
  return median * std::exp(sigma * normal_quantile(probability));
}

double LogNormal::probability_below(double value) const {
  if (!(value > 0)) return median > 0 ? 0 : 1;
  if (!(median > 0)) return 1;
  if (sigma == 0) return value >= median ? 1 : 0;
  return boost::math::cdf(boost::math::normal(), std::log(value / median) / sigma);
}

}  // namespace ampere
