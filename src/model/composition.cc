#include "model/composition.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/statistics.h"

namespace ampere {
namespace {

// Priors of log(whole / sum): standard deviation of its mean over a family, and of single networks around
// that mean.
constexpr double kPriorBias = 0.06;
constexpr double kPriorDeviation = 0.03;
constexpr double kPriorWeight = 2;  // of the second prior, in networks
constexpr double kLeastSpread = 0.004;

// The same prior of the mean for host times, which add up less well.
constexpr double kPriorHostBias = 0.3;

// Beliefs about the two parts of what a device adds, fixed and in proportion, over the sum of a network
// of the reference size. A device that waits draws little, so of the energy less is fixed than of the time.
struct Beliefs {
  double fixed, proportion;
};
constexpr Beliefs kOfTime{0.06, 0.03};
constexpr Beliefs kOfEnergy{0.02, 0.06};
// A network much smaller than any that was trained is not believed to be all fixed part.
constexpr double kMostRatio = 4;

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

static CompositionError learn(const std::vector<WholeComparison>& compared, double prior_bias) {
  CompositionError error;
  error.networks = static_cast<int>(compared.size());
  if (compared.empty()) return error;
  const auto n = static_cast<double>(compared.size());
  double mean = 0;
  for (const WholeComparison& c : compared) mean += std::log(c.measured / c.estimated) / n;
  double squares = kPriorWeight * kPriorDeviation * kPriorDeviation;
  for (const WholeComparison& c : compared) {
    const double off = std::log(c.measured / c.estimated) - mean;
    squares += off * off;
  }
  const double spread = squares / (n + kPriorWeight);
  // Posterior of the common part, and what is left unknown of it.
  const double shrink = n / (n + spread / (prior_bias * prior_bias));
  error.log_bias = shrink * mean;
  error.deviation = std::max(kLeastSpread, stretch_of(n + kPriorWeight - 1) * std::sqrt(spread + spread / n));
  return error;
}

// Prior standard deviation of log(whole / sum) between networks of a family. It grows with the mean of that
// logarithm: where sums of layers predict whole networks without bias, they do so for every network; where
// they are biased, the bias differs from one network to the next.
static double prior_deviation_given(double log_bias_of_time) {
  constexpr double kAnyway = 0.0075;
  constexpr double kShareOfBias = 0.3;
  return std::hypot(kAnyway, kShareOfBias * log_bias_of_time);
}

// Regression of (whole - sum) / sum on 1 and reference_sum / sum, with the beliefs as a ridge.
static CompositionError learn_two_parts(const std::vector<WholeComparison>& compared, const Beliefs& beliefs,
                                        double prior_deviation) {
  constexpr std::size_t kTwoParts = 4;  // fewer networks cannot tell two parts apart
  if (compared.size() < kTwoParts) return learn_composition(compared);
  const auto n = static_cast<double>(compared.size());
  double log_mean = 0;
  for (const WholeComparison& c : compared) log_mean += std::log(c.estimated) / n;
  CompositionError error;
  error.networks = static_cast<int>(compared.size());
  error.reference_sum = std::exp(log_mean);
  constexpr double spread_before = kPriorDeviation * kPriorDeviation;
  double spread = spread_before, squares = 0;
  double proportion = 0;
  for (int pass = 0; pass < 10; ++pass) {  // fixed point: the ridge depends on the spread of the residuals
    double xx = spread / (beliefs.fixed * beliefs.fixed), x1 = 0, x1y = 0, xy = 0;
    double one = spread / (beliefs.proportion * beliefs.proportion);
    for (const WholeComparison& c : compared) {
      const double x = error.reference_sum / c.estimated, y = c.measured / c.estimated - 1;
      xx += x * x;
      x1 += x;
      one += 1;
      xy += x * y;
      x1y += y;
    }
    const double determinant = xx * one - x1 * x1;
    error.fixed_share = (xy * one - x1y * x1) / determinant;
    proportion = (x1y * xx - xy * x1) / determinant;
    squares = 0;
    for (const WholeComparison& c : compared) {
      const double off =
          c.measured / c.estimated - 1 - proportion - error.fixed_share * error.reference_sum / c.estimated;
      squares += off * off;
    }
    // Not above its first value: a larger spread gives the priors more weight, which makes the fit worse
    // where all networks are biased alike, which would raise the spread again.
    spread = std::min(spread, (squares + kPriorWeight * spread_before) / (n + kPriorWeight));
  }
  spread = (squares + kPriorWeight * prior_deviation * prior_deviation) / (n + kPriorWeight);
  error.log_bias = std::log(std::max(1 + proportion + error.fixed_share, 0.5));
  error.deviation = std::max(kLeastSpread, stretch_of(n + kPriorWeight - 2) * std::sqrt(spread + spread / n));
  return error;
}

CompositionError learn_composition(const std::vector<WholeComparison>& compared) {
  return learn(compared, kPriorBias);
}

CompositionError learn_device_time(const std::vector<WholeComparison>& compared) {
  double log_bias = 0;
  for (const WholeComparison& c : compared)
    log_bias += std::log(c.measured / c.estimated) / static_cast<double>(compared.size());
  return learn_two_parts(compared, kOfTime, prior_deviation_given(log_bias));
}

CompositionError learn_device_energy(const std::vector<WholeComparison>& compared,
                                     const CompositionError& time) {
  return learn_two_parts(compared, kOfEnergy, prior_deviation_given(time.log_bias));
}

CompositionError learn_host_composition(const std::vector<WholeComparison>& compared) {
  return learn(compared, kPriorHostBias);
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
