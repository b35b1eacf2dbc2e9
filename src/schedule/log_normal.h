// A cost that is known up to a factor: what an estimate says of a job's energy or time.
#pragma once

namespace ampere {

struct LogNormal {
  double median = 0;  // joules or seconds
  double sigma = 0;   // deviation of the logarithm; 0: known exactly

  // As Estimate gives them: a value and the upper bound of its 95% interval.
  static LogNormal from_interval(double value, double high);
  // With exactly this mean and standard deviation. The mean must be positive, the deviation not negative.
  static LogNormal from_mean(double mean, double deviation);

  double mean() const;
  // What it stays under with this probability, which lies between 0 and 1, both excluded.
  double quantile(double probability) const;
  double probability_below(double value) const;
  LogNormal operator*(double factor) const { return {median * factor, sigma}; }
};

// Of the standard normal distribution.
double normal_quantile(double probability);

}  // namespace ampere
