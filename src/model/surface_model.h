// One regression per layer kind and quantity: what a layer costs as a function of its channels.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gp/steps.h"
#include "layers/parse.h"
#include "model/cost_polynomial.h"

namespace ampere {

// One value seen at one place of the surface.
struct Observation {
  Channels channels;
  double value;         // joules or seconds per iteration
  double error = 0.01;  // relative standard error of the value
  // How well the value would come again on another day, relative: what is known of this very place, as
  // against what its neighbours say.
  double repeatability = 0.03;
};

// How to regress. The default is `split`'s; paper_surface_options() is the published method.
struct SurfaceOptions {
  // Logarithm of the value over logarithms of the channels: errors are relative, and so are ours.
  bool logarithmic = true;
  // Mean a + b * FLOPs + c * bytes with a, b, c not negative; the process learns what it misses.
  // Without it the mean is constant.
  bool physical_mean = true;
  // FLOPs are counted in whole blocks of so many channels where that makes the points likelier. 1: never.
  std::int64_t block = 1;
  // Most channel numbers at which the surface steps (gp/steps.h); 0: it is smooth.
  int most_steps = 4;
  GpOptions gp;
};
// On processors libraries compute in blocks of 16 channels: 17 cost what 32 do (docs/accuracy.md).
SurfaceOptions default_surface_options(bool processor = false);
SurfaceOptions paper_surface_options();

// Means and covariances of the values at several distinct places, in joules or seconds.
struct SurfacePrediction {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

// A channel number at which the surface steps: somewhere after `from`, at `to` at the latest.
struct SurfaceStep {
  bool of_in;  // the channels in; else those out
  std::int64_t from, to;
};

class SurfaceModel {
 public:
  // One observation is enough. `cost` is that of the kind.
  SurfaceModel(std::vector<Observation> observations, Surface surface, const CostPolynomial& cost,
               const SurfaceOptions& options);

  // Steps of other surfaces that may be the same: where this one's points leave open at which channel number
  // it steps, theirs tell.
  void narrow(const std::vector<SurfaceStep>& elsewhere);

  // A value that was measured after the fit, for this place alone.
  void know(const Observation& observation);

  // What the process expects at one place; allocates nothing.
  double mean_at(Channels channels) const;
  // Where a place itself was measured better than the process can tell it, the measurement counts: kernels
  // differ from one channel number to the next in ways that no smooth surface shows. What the process calls
  // noise is for the most part that, so it is part of every other variance. Outside of the measured channels
  // variances grow with the distance.
  SurfacePrediction at(const std::vector<Channels>& places) const;
  // Standard deviation over mean at each place.
  Eigen::VectorXd relative_deviation(const std::vector<Channels>& places) const;

  const std::vector<Observation>& observations() const { return observations_; }
  const Gp& gp() const { return fitted_->gp; }
  std::vector<SurfaceStep> steps() const;

 private:
  bool in_varies() const { return surface_ != Surface::kOut && surface_ != Surface::kPoint; }
  bool out_varies() const { return surface_ == Surface::kOut || surface_ == Surface::kInOut; }
  int dimensions() const { return surface_ == Surface::kInOut ? 2 : 1; }
  // What the process is added to, or multiplied by.
  struct Mean {
    double fixed = 1, per_flop = 0, per_byte = 0;
    std::int64_t block = 1;
  };
  Mean fit_mean(std::int64_t block) const;
  std::shared_ptr<const SteppedGp> fit_process() const;
  double flops(Channels c, std::int64_t block) const;
  GpData data() const;
  GpOptions process_options(const GpData& data) const;
  double physical(Channels c) const;
  // How far the place lies outside of the observations, in factors of e over both numbers; 0 inside.
  double distance_outside(Channels c) const;
  double coordinate(std::int64_t channels) const;
  bool is_of_in(const InputStep& step) const { return surface_ != Surface::kOut && step.column == 0; }
  // What the steps are steps of; at most two numbers.
  void locate(Channels c, double* x) const;
  // The process's inputs.
  Eigen::MatrixXd locate(const std::vector<Channels>& places) const;

  std::vector<Observation> observations_;
  Surface surface_;
  CostPolynomial cost_;
  SurfaceOptions options_;
  std::map<Channels, Observation> known_;
  Domain seen_;  // of the observations
  Mean mean_;
  std::shared_ptr<const SteppedGp> fitted_;
};

}  // namespace ampere
