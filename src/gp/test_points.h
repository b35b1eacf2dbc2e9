// Deterministic data for the tests of this folder.
#pragma once

#include <Eigen/Core>
#include <random>

#include "gp/gp_options.h"

namespace ampere {

inline Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937_64 random(seed);
  Eigen::MatrixXd matrix(rows, columns);
  for (double& value : matrix.reshaped()) value = static_cast<double>(random() >> 11) * 0x1p-53;
  return matrix;
}

// A smooth function of the inputs; noise of the given size, uniform.
inline GpData smooth_data(Eigen::Index n, Eigen::Index dimensions, double noise, unsigned seed) {
  GpData data;
  data.x = random_matrix(n, dimensions, seed);
  data.y = (3 * data.x.col(0)).array().sin() + data.x.rowwise().sum().array().square();
  data.y += noise * (random_matrix(n, 1, seed + 1).array() - 0.5).matrix();
  return data;
}

// The same with uneven noise weights.
inline GpData weighted_data(Eigen::Index n, Eigen::Index dimensions, double noise, unsigned seed) {
  GpData data = smooth_data(n, dimensions, noise, seed);
  data.noise_weights = random_matrix(n, 1, seed + 2).array() + 0.5;
  return data;
}

}  // namespace ampere
