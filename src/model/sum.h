// Adding up layers: means, and variances by the joint posterior of layers that share a surface.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/parse.h"
#include "model/layer_models.h"

namespace ampere {

// Layer::key() to the key of the surface that stands for it, of all plans that measure this phase.
std::map<std::string, std::string> surface_map(const std::vector<SurfacePlan>& plans,
                                               Phase phase = Phase::kIteration);

struct LayerSum {
  double mean = 0;
  double variance = 0;
  double unmeasured = 0;            // of the mean: layers that what else was measured on the device tells
  int unmeasured_places = 0;        // of those, different ones
  double variance_if_measured = 0;  // what the variance would be if they were measured
  std::vector<double> layer_mean;   // one per layer
  std::vector<double> layer_deviation;
};

// `surface_of` maps Layer::key() to the surface's key. Layers of one surface err together, so their
// covariances count; so do layers of the same channels whose kinds begin with the same op. Other surfaces are
// independent.
LayerSum sum_layers(const LayerModels& models, const std::vector<Layer>& layers,
                    const std::map<std::string, std::string>& surface_of, Quantity quantity);
// The same of LayerModels::energies(), which may be told by time and power.
LayerSum sum_energies(const LayerModels& models, const std::vector<Layer>& layers,
                      const std::map<std::string, std::string>& surface_of);

}  // namespace ampere
