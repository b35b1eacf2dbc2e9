// How alike calls are: the prior covariance of the logarithms of their times, and of their powers.
#pragma once

#include <Eigen/Core>
#include <map>
#include <vector>

#include "model/roof.h"
#include "work/op_work.h"

namespace ampere {

// A call as the process sees it.
struct WorkPoint {
  OpFamily family;
  int name = 0;  // of family and name, as WorkNames counts them
  Arithmetic arithmetic;
  Coordinates coordinates;
  double log_roof_s = 0;
};

// Numbers for names, the same for the same.
class WorkNames {
 public:
  int number(const OpWork& work);

 private:
  std::map<std::pair<OpFamily, std::string>, int> numbers_;
};

WorkPoint point_of(const OpWork& work, const Roof& roof, WorkNames& names);

// Of the logarithms of times, docs/one_model.md. Points that are equal share what is each point's own.
Eigen::MatrixXd time_covariance(const std::vector<WorkPoint>& a, const std::vector<WorkPoint>& b);
// The prior mean of the logarithm of a call's time.
double time_mean(const WorkPoint& point);

// What a call does per second, of what the roof allows, and for how long: that tells its power.
struct RatePoint {
  OpFamily family;
  int name = 0;
  std::array<double, kArithmetics + 2> rates;
  std::array<double, 3> sizes;  // rows, columns and depth, as powers of two
};
RatePoint rate_point_of(const OpWork& work, const Roof& roof, double time_s, WorkNames& names);
Eigen::MatrixXd power_covariance(const std::vector<RatePoint>& a, const std::vector<RatePoint>& b);

}  // namespace ampere
