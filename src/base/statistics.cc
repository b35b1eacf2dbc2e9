#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ampere {
namespace {

// For normal data: deviation = 1.4826 median absolute deviations; the median's standard error is
// sqrt(pi / 2) = 1.2533 times that of the mean.
constexpr double kDeviationPerMad = 1.4826;
constexpr double kMedianOverMean = 1.2533;
constexpr double kOutlierDeviations = 5;
constexpr std::size_t kEnoughForMad = 8;

double median_absolute_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median(std::move(distances));
}

double sample_deviation(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double robust_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  if (values.size() >= kEnoughForMad) {
    const double mad = median_absolute_deviation(values);
    if (mad > 0) return kDeviationPerMad * mad;
  }
  return sample_deviation(values);
}

double relative_error_of_median(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < 2 || middle == 0) return std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(values.size());
  return kMedianOverMean * robust_deviation(values) / std::sqrt(n) / std::abs(middle);
}

int count_outliers(const std::vector<double>& values) {
  const double middle = median(values);
  const double limit = kOutlierDeviations * kDeviationPerMad * median_absolute_deviation(values);
  // A spread of zero makes the last bit of a double an outlier: leave room for rounding.
  const double rounding = 1e-9 * std::abs(middle);
  return static_cast<int>(std::count_if(values.begin(), values.end(), [&](double value) {
    return std::abs(value - middle) > std::max(limit, rounding);
  }));
}

}  // namespace ampere
