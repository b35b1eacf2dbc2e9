// How alike calls are: the prior covariance of the logarithms of their times, and of their powers.
#pragma once

#include <Eigen/Core>
#include <map>
#include <vector>

#include "model/roof.h"
#include "work/op_work.h"

namespace ampere {

// Where a call runs: on the device that is asked about, or on a relative of it that was measured before.
enum class Where { kHere, kElsewhere };

// How far relatives are apart, relative standard deviations: of all calls together, of a family, of one call.
struct Kinship {
  double all = 0, family = 0, own = 0;
};
// Of times and powers. Cards of one name differ by the silicon they got, and by how it is cooled.
struct Relation {
  Kinship time, power;
};
Relation sister_card();
// The same hardware under another driver, or another version of the framework, whose kernels may be others.
Relation other_software();

// A call as the process sees it.
struct WorkPoint {
  OpFamily family;
  int name = 0;  // of family and name, as WorkNames counts them
  Arithmetic arithmetic;
  Coordinates coordinates;
  double log_roof_s = 0;
  Where where = Where::kHere;
};

// Numbers for names, the same for the same.
class WorkNames {
 public:
  int number(const OpWork& work);

 private:
  std::map<std::pair<OpFamily, std::string>, int> numbers_;
};

WorkPoint point_of(const OpWork& work, const Roof& roof, WorkNames& names);
// How far apart two calls are, over all coordinates, each divided by its length; infinite between families.
double distance_of(const WorkPoint& a, const WorkPoint& b);

// Of the logarithms of times, docs/one_model.md. Points that are equal share what is each point's own; points
// at the same place share what that place has beyond its relatives.
Eigen::MatrixXd time_covariance(const std::vector<WorkPoint>& a, const std::vector<WorkPoint>& b,
                                const Kinship& kinship = {});
// The prior mean of the logarithm of a call's time.
double time_mean(const WorkPoint& point);

// What a call does per second, of what the roof allows, and for how long: that tells its power.
struct RatePoint {
  OpFamily family;
  int name = 0;
  std::array<double, kArithmetics + 2> rates;
  std::array<double, 3> sizes;  // rows, columns and depth, as powers of two
  Where where = Where::kHere;
};
RatePoint rate_point_of(const OpWork& work, const Roof& roof, double time_s, WorkNames& names);
Eigen::MatrixXd power_covariance(const std::vector<RatePoint>& a, const std::vector<RatePoint>& b,
                                 const Kinship& kinship = {});

}  // namespace ampere
