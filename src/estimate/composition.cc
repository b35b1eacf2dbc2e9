#include "estimate/composition.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace ampere {
namespace {

// Before any whole network was trained: sums are off by a few percent in common, and each network by
// a few more.
constexpr double kPriorBias = 0.06;
constexpr double kPriorDeviation = 0.03;
constexpr double kPriorWeight = 2;  // as many networks as that belief counts for
constexpr double kLeastDeviation = 0.004;

// Whole networks are issued more slowly than the sum of their layers, and by how much differs.
constexpr double kPriorHostBias = 0.3;

// Beliefs about the two parts of what a device adds, fixed and in proportion, over the sum of a typical
// network. A device that waits draws little, so of the energy less is fixed than of the time.
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
  return boost::math::quantile(t, 0.975) / 1.959963984540054;
}

}  // namespace

double CompositionError::factor(double sum) const {
  const double at_typical = std::exp(log_bias);
  if (!(typical > 0) || !(sum > 0)) return at_typical;
  return std::max(at_typical + fixed_share * (std::min(typical / sum, kMostRatio) - 1), 0.5);
}

static CompositionError learn(const std::vector<WholeCheck>& checks, double prior_bias) {
  CompositionError error;
  error.networks = static_cast<int>(checks.size());
  if (checks.empty()) return error;
  const auto n = static_cast<double>(checks.size());
  double mean = 0;
  for (const WholeCheck& c : checks) mean += std::log(c.measured / c.estimated) / n;
  double squares = kPriorWeight * kPriorDeviation * kPriorDeviation;
  for (const WholeCheck& c : checks) {
    const double off = std::log(c.measured / c.estimated) - mean;
    squares += off * off;
  }
  const double spread = squares / (n + kPriorWeight);
  // Posterior of the common part, and what is left unknown of it.
  const double shrink = n / (n + spread / (prior_bias * prior_bias));
  error.log_bias = shrink * mean;
  error.deviation =
      std::max(kLeastDeviation, stretch_of(n + kPriorWeight - 1) * std::sqrt(spread + spread / n));
  return error;
}

// What networks are believed to differ by before their own spread is looked at. Where layers take as long
// in a network as alone, they do so in every network; where they do not, by how much differs from one to the
// next.
static double prior_deviation_given(double log_bias_of_time) {
  constexpr double kAnyway = 0.0075;
  constexpr double kShareOfBias = 0.3;
  return std::hypot(kAnyway, kShareOfBias * log_bias_of_time);
}

// Regression of (whole - sum) / sum on 1 and typical / sum, with the beliefs as a ridge.
static CompositionError learn_two_parts(const std::vector<WholeCheck>& checks, const Beliefs& beliefs,
                                        double prior_deviation) {
  constexpr std::size_t kTwoParts = 4;  // fewer networks cannot tell two parts apart
  if (checks.size() < kTwoParts) return learn_composition(checks);
  const auto n = static_cast<double>(checks.size());
  double log_mean = 0;
  for (const WholeCheck& c : checks) log_mean += std::log(c.estimated) / n;
  CompositionError error;
  error.networks = static_cast<int>(checks.size());
  error.typical = std::exp(log_mean);
  constexpr double spread_before = kPriorDeviation * kPriorDeviation;
  double spread = spread_before, squares = 0;
  double proportion = 0;
  for (int pass = 0; pass < 10; ++pass) {  // the beliefs weigh by the spread, which follows from the fit
    double xx = spread / (beliefs.fixed * beliefs.fixed), x1 = 0, x1y = 0, xy = 0;
    double one = spread / (beliefs.proportion * beliefs.proportion);
    for (const WholeCheck& c : checks) {
      const double x = error.typical / c.estimated, y = c.measured / c.estimated - 1;
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
    for (const WholeCheck& c : checks) {
      const double off =
          c.measured / c.estimated - 1 - proportion - error.fixed_share * error.typical / c.estimated;
      squares += off * off;
    }
    // Never more than believed at first: the more the beliefs weigh, the worse they fit where all networks
    // are far off alike, and the more they would weigh.
    spread = std::min(spread, (squares + kPriorWeight * spread_before) / (n + kPriorWeight));
  }
  spread = (squares + kPriorWeight * prior_deviation * prior_deviation) / (n + kPriorWeight);
  error.log_bias = std::log(std::max(1 + proportion + error.fixed_share, 0.5));
  error.deviation =
      std::max(kLeastDeviation, stretch_of(n + kPriorWeight - 2) * std::sqrt(spread + spread / n));
  return error;
}

CompositionError learn_composition(const std::vector<WholeCheck>& checks) {
  return learn(checks, kPriorBias);
}

CompositionError learn_device_time(const std::vector<WholeCheck>& checks) {
  double log_bias = 0;
  for (const WholeCheck& c : checks)
    log_bias += std::log(c.measured / c.estimated) / static_cast<double>(checks.size());
  return learn_two_parts(checks, kOfTime, prior_deviation_given(log_bias));
}

CompositionError learn_device_energy(const std::vector<WholeCheck>& checks, const CompositionError& time) {
  return learn_two_parts(checks, kOfEnergy, prior_deviation_given(time.log_bias));
}

CompositionError learn_host_composition(const std::vector<WholeCheck>& checks) {
  return learn(checks, kPriorHostBias);
}

CompositionError composition_of(DeviceProfile& profile, const std::string& method, const std::string& family,
                                Part part) {
  const auto fact = profile.store().fact(profile.device(), profile.recipe(), fact_name(method, family, part));
  if (!fact) return {};
  JsonReader r(*fact, "composition");
  return {r.number("log_bias"), r.number("deviation"), static_cast<int>(r.integer("networks")),
          r.number("fixed_share", 0), r.number("typical", 0)};
}

void keep_composition(DeviceProfile& profile, const std::string& method, const std::string& family, Part part,
                      const CompositionError& error) {
  profile.store().put_fact(profile.device(), profile.recipe(), fact_name(method, family, part),
                           {{"log_bias", error.log_bias},
                            {"deviation", error.deviation},
                            {"networks", error.networks},
                            {"fixed_share", error.fixed_share},
                            {"typical", error.typical}});
}

}  // namespace ampere
