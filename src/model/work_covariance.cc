#include "model/work_covariance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "gp/exp_minus.h"

namespace ampere {
namespace {

double square(double x) { return x * x; }

// Standard deviations of the logarithm of a time, and lengths over which calls are alike, in the units of
// coordinates_of(): most are powers of two. docs/one_model.md says where they come from.
constexpr double kAll = 0.5;      // a factor that all calls share
constexpr double kFamily = 0.84;  // a factor that a family has
constexpr double kShape = 0.84;   // what depends on the shape, smoothly
constexpr double kRough = 0.25;   // and roughly
constexpr double kRoughRate = 3;
constexpr double kOwn = 0.1;  // what no other call tells
// Correlations within a family: of calls of another name, and on other units, of their factor and their
// shape.
constexpr double kOtherName = 0.6, kOtherUnit = 0.7, kOtherUnitShape = 0.85;
constexpr Coordinates kLengths = {12, 8, 10, 10, 10, 6, 10, 5, 3, 3, 6, 6, 6, 2.5, 4, 2.5};
// A division takes as long as many multiplications, and there are millions.
constexpr Coordinates kPerLength = [] {
  Coordinates per{};
  for (std::size_t i = 0; i < kCoordinates; ++i) per[i] = 1 / kLengths[i];
  return per;
}();
// Calls take this much more than their roof, before anything is known.
constexpr double kAboveRoof = 0.6;

double squared_distance(const WorkPoint& a, const WorkPoint& b) {
  double distance = 0;
  for (std::size_t i = 0; i < kCoordinates; ++i)
    distance += square((a.coordinates[i] - b.coordinates[i]) * kPerLength[i]);
  return distance;
}

// One call with many.
void covariances_with(const WorkPoint& b, const std::vector<WorkPoint>& a, std::size_t first, double* out) {
  std::fill(out + first, out + a.size(), square(kAll));
  std::array<double, kChunk> apart, root, decay, roughness, rough;
  std::array<std::size_t, kChunk> related;
  for (std::size_t at = first; at < a.size();) {
    std::size_t count = 0;
    for (; at < a.size() && count < kChunk; ++at) {
      if (a[at].family != b.family) continue;
      apart[count] = squared_distance(a[at], b);
      related[count++] = at;
    }
    exp_minus_root(count, 5, apart.data(), root.data(), decay.data());
    exp_minus_root(count, square(kRoughRate), apart.data(), roughness.data(), rough.data());
    for (std::size_t i = 0; i < count; ++i) {
      const WorkPoint& one = a[related[i]];
      const bool same_unit = one.arithmetic == b.arithmetic, same_name = one.name == b.name;
      const double shape =
          square(kShape) * (1 + root[i] + square(root[i]) / 3) * decay[i] + square(kRough) * rough[i];
      double& k = out[related[i]];
      k += (same_name ? 1 : kOtherName) *
           ((same_unit ? 1 : kOtherUnit) * square(kFamily) + (same_unit ? 1 : kOtherUnitShape) * shape);
      if (same_unit && same_name && apart[i] == 0) k += square(kOwn);
    }
  }
}

// The same of powers.
constexpr double kPowerAll = 0.45;
constexpr double kPowerRates = 0.2;
constexpr double kPowerRate = 0.5;  // length, of rates
constexpr double kPowerTime = 1.5;  // and of powers of two of the time
constexpr double kPowerFamily = 0.35;
constexpr double kPowerRough = 0.2;      // kernels differ from one size to the next, and so do their powers
constexpr double kPowerRoughLength = 3;  // in powers of two of its sizes
constexpr double kPowerOwn = 0.03;
constexpr double kShareAll = 0.15, kShareFamily = 0.6, kShareName = 0.25;

void covariances_with(const RatePoint& b, const std::vector<RatePoint>& a, std::size_t first, double* out) {
  std::array<double, kChunk> apart, root, decay, roughness, rough;
  std::array<std::size_t, kChunk> related;
  for (std::size_t begin = first; begin < a.size(); begin += kChunk) {
    const std::size_t count = std::min(kChunk, a.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const RatePoint& one = a[begin + i];
      apart[i] = square((one.rates.back() - b.rates.back()) * (1 / kPowerTime));
      for (std::size_t k = 0; k + 1 < b.rates.size(); ++k)
        apart[i] += square((one.rates[k] - b.rates[k]) / kPowerRate);
    }
    exp_minus_root(count, 5, apart.data(), root.data(), decay.data());
    std::size_t of_family = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const RatePoint& one = a[begin + i];
      const bool same_family = one.family == b.family, same_name = one.name == b.name;
      const double alike = kShareAll + (same_family ? kShareFamily : 0) + (same_name ? kShareName : 0);
      out[begin + i] = square(kPowerAll) + (square(kPowerRates) + square(kPowerFamily) * alike) *
                                               (1 + root[i] + square(root[i]) / 3) * decay[i];
      if (!same_family) continue;
      // Roughness is within a family, most of what there is is of another.
      double& distance = apart[of_family] = apart[i];
      for (std::size_t k = 0; k < b.sizes.size(); ++k)
        distance += square((one.sizes[k] - b.sizes[k]) * (1 / kPowerRoughLength));
      related[of_family++] = begin + i;
    }
    exp_minus_root(of_family, 1, apart.data(), roughness.data(), rough.data());
    for (std::size_t i = 0; i < of_family; ++i) {
      double& k = out[related[i]];
      k += square(kPowerRough) * rough[i];
      if (a[related[i]].name == b.name && apart[i] == 0) k += square(kPowerOwn);
    }
  }
}

// What the place of two calls adds. Half of each variance is the place's own and half its relative's, so the
// two are as far apart as the kinship says.
template <class Point>
double covariance_of_place(const Point& a, const Point& b, const Kinship& kinship, bool same) {
  if (a.where != b.where) return 0;
  return (square(kinship.all) + (a.family == b.family ? square(kinship.family) : 0) +
          (same ? square(kinship.own) : 0)) /
         2;
}

bool same_call(const WorkPoint& a, const WorkPoint& b) {
  return a.name == b.name && a.arithmetic == b.arithmetic && a.coordinates == b.coordinates;
}
bool same_call(const RatePoint& a, const RatePoint& b) {
  return a.name == b.name && a.rates == b.rates && a.sizes == b.sizes;
}

// What a device is asked about is few, and is answered beside others; what was measured is many, and one core
// goes through so many columns of it.
constexpr std::size_t kMany = 1000, kColumns = 16;

// Copies the lower half to the upper one, in squares that stay in the cache.
void mirror_lower(Eigen::MatrixXd& k) {
  constexpr std::size_t kSide = 64;
  const auto n = static_cast<std::size_t>(k.rows());
  const auto side = static_cast<Eigen::Index>(kSide);
  const auto mirror = [&](Eigen::Index j) {
    const Eigen::Index columns = std::min(side, k.rows() - j);
    auto corner = k.block(j, j, columns, columns);
    corner.triangularView<Eigen::StrictlyUpper>() = corner.transpose();
    for (Eigen::Index i = j + side; i < k.rows(); i += side) {
      const Eigen::Index rows = std::min(side, k.rows() - i);
      k.block(j, i, columns, rows) = k.block(i, j, rows, columns).transpose();
    }
  };
  in_parallel(n, n < kMany ? kMany : kSide, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; j += kSide) mirror(static_cast<Eigen::Index>(j));
  });
}

template <class Point>
Eigen::MatrixXd covariances(const std::vector<Point>& a, const std::vector<Point>& b,
                            const Kinship& kinship) {
  const bool relatives = kinship.all > 0 || kinship.family > 0 || kinship.own > 0;
  Eigen::MatrixXd k(static_cast<Eigen::Index>(a.size()), static_cast<Eigen::Index>(b.size()));
  const bool same = &a == &b;
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      double* column = k.col(static_cast<Eigen::Index>(j)).data();
      const std::size_t first = same ? j : 0;
      covariances_with(b[j], a, first, column);
      for (std::size_t i = first; relatives && i < a.size(); ++i)
        column[i] += covariance_of_place(a[i], b[j], kinship, same_call(a[i], b[j]));
    }
  };
  if (!same || b.size() < kMany) {
    fill(0, b.size());
  } else {
    in_parallel(b.size(), kColumns, fill);
  }
  if (same) mirror_lower(k);
  return k;
}

constexpr double kMostRate = 1.5;
constexpr double kOtherNameApart = 0.7, kOtherUnitApart = 0.5;

}  // namespace

double distance_of(const WorkPoint& a, const WorkPoint& b) {
  if (a.family != b.family) return std::numeric_limits<double>::infinity();
  return std::sqrt(squared_distance(a, b)) + (a.name == b.name ? 0 : kOtherNameApart) +
         (a.arithmetic == b.arithmetic ? 0 : kOtherUnitApart);
}

int WorkNames::number(const OpWork& work) {
  return numbers_.try_emplace({work.family, work.name}, static_cast<int>(numbers_.size())).first->second;
}

WorkPoint point_of(const OpWork& work, const Roof& roof, WorkNames& names) {
  const double roof_s = roof.seconds(work);
  return {work.family,      names.number(work), work.arithmetic, coordinates_of(work, roof_s),
          std::log(roof_s), Where::kHere};
}

Eigen::MatrixXd time_covariance(const std::vector<WorkPoint>& a, const std::vector<WorkPoint>& b,
                                const Kinship& kinship) {
  return covariances(a, b, kinship);
}

double time_mean(const WorkPoint& point) { return point.log_roof_s + kAboveRoof; }

RatePoint rate_point_of(const OpWork& work, const Roof& roof, double time_s, WorkNames& names) {
  RatePoint point{work.family, names.number(work), {}, {}, Where::kHere};
  const double sizes[] = {work.rows, work.columns, work.depth};
  for (std::size_t i = 0; i < point.sizes.size(); ++i) point.sizes[i] = std::log2(std::max(sizes[i], 1.0));
  const auto unit = static_cast<std::size_t>(work.arithmetic);
  if (multiplies(work.family))
    point.rates[unit] = std::sqrt(std::min(work.flops / time_s / roof.flops_per_s[unit], kMostRate));
  point.rates[kArithmetics] = std::sqrt(std::min(work.bytes / time_s / roof.bytes_per_s, kMostRate));
  point.rates[kArithmetics + 1] = std::log2(time_s / std::max(work.launches, 1e-3) / 1e-6);
  return point;
}

Eigen::MatrixXd power_covariance(const std::vector<RatePoint>& a, const std::vector<RatePoint>& b,
                                 const Kinship& kinship) {
  return covariances(a, b, kinship);
}

Relation sister_card() { return {{0.02, 0.015, 0.015}, {0.05, 0.02, 0.02}}; }
Relation other_software() { return {{0.06, 0.1, 0.12}, {0.05, 0.05, 0.05}}; }

}  // namespace ampere
