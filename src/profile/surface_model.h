// One regression per layer kind and quantity: what a layer costs as a function of its channels.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gp/gp.h"
#include "layers/layer_kind.h"
#include "profile/cost_polynomial.h"

namespace ampere {

// One value seen at one place of the surface.
struct Observation {
  Channels channels;
  double value;         // joules or seconds per iteration
  double error = 0.01;  // relative standard error of the value
};

// How to regress. The default is `split`'s; paper_surface_options() is the published method.
struct SurfaceOptions {
  // Logarithm of the value over logarithms of the channels: errors are relative, and so are ours.
  bool logarithmic = true;
  // Mean a + b * FLOPs + c * bytes with a, b, c not negative; the process learns what it misses.
  // Without it the mean is constant.
  bool physical_mean = true;
  GpOptions gp;
};
SurfaceOptions default_surface_options();
SurfaceOptions paper_surface_options();

// Means and covariances of the values at several places, in joules or seconds.
struct SurfacePrediction {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

class SurfaceModel {
 public:
  // One observation is enough. `cost` is that of the kind.
  SurfaceModel(std::vector<Observation> observations, Surface surface, const CostPolynomial& cost,
               const SurfaceOptions& options);

  // Expected value at one place; allocates nothing.
  double mean_at(Channels channels) const;
  SurfacePrediction at(const std::vector<Channels>& places) const;
  // Standard deviation over mean at each place.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places) const;

  const std::vector<Observation>& observations() const { return observations_; }
  const Gp& gp() const { return *gp_; }

 private:
  int dimensions() const { return surface_ == Surface::kInOut ? 2 : 1; }
  void fit_physical_mean();
  double physical(Channels c) const;
  // The process's input; at most two numbers.
  void locate(Channels c, double* x) const;
  Eigen::MatrixXd locate(const std::vector<Channels>& places) const;

  std::vector<Observation> observations_;
  Surface surface_;
  CostPolynomial cost_;
  SurfaceOptions options_;
  double fixed_ = 1, per_flop_ = 0, per_byte_ = 0;
  std::shared_ptr<Gp> gp_;
};

}  // namespace ampere
