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
constexpr double kLeastDeviation = 0.01;

// Whole networks are issued more slowly than the sum of their layers, and by how much differs.
constexpr double kPriorHostBias = 0.3;

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

}  // namespace

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
  // The spread is itself known from few networks: intervals are taken as if it were normal, so it is
  // stretched to give the 95% interval of Student's t.
  const boost::math::students_t t(n + kPriorWeight - 1);
  const double stretch = boost::math::quantile(t, 0.975) / 1.959963984540054;
  error.deviation = std::max(kLeastDeviation, stretch * std::sqrt(spread + spread / n));
  return error;
}

CompositionError learn_composition(const std::vector<WholeCheck>& checks) {
  return learn(checks, kPriorBias);
}

CompositionError learn_host_composition(const std::vector<WholeCheck>& checks) {
  return learn(checks, kPriorHostBias);
}

CompositionError composition_of(DeviceProfile& profile, const std::string& method, const std::string& family,
                                Part part) {
  const auto fact = profile.store().fact(profile.device(), profile.recipe(), fact_name(method, family, part));
  if (!fact) return {};
  JsonReader r(*fact, "composition");
  return {r.number("log_bias"), r.number("deviation"), static_cast<int>(r.integer("networks"))};
}

void keep_composition(DeviceProfile& profile, const std::string& method, const std::string& family, Part part,
                      const CompositionError& error) {
  profile.store().put_fact(
      profile.device(), profile.recipe(), fact_name(method, family, part),
      {{"log_bias", error.log_bias}, {"deviation", error.deviation}, {"networks", error.networks}});
}

}  // namespace ampere
