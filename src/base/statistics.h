// Robust statistics of a handful of windows.
#pragma once

#include <vector>

namespace ampere {

// 95% of a normal distribution lie within so many standard deviations of its mean.
inline constexpr double kZ95 = 1.959963984540054;

// The middle value, or the mean of the two in the middle. 0 for none.
double median(std::vector<double> values);

// Standard deviation of normal data from the median absolute deviation (8 values or more, and where that
// deviation is not zero), otherwise the sample standard deviation. 0 for fewer than two values.
double robust_deviation(const std::vector<double>& values);

// Relative standard error of the median: 1.2533 robust deviations over the square root of n, over the median.
// Infinite for fewer than two values or a median of zero.
double relative_error_of_median(const std::vector<double>& values);

// How many values lie further than 5 scaled median absolute deviations from the median.
int count_outliers(const std::vector<double>& values);

}  // namespace ampere
