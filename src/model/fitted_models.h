// Models that were fitted to points of a profile, kept by all that they follow from.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "model/layer_models.h"
#include "model/within_calls.h"
#include "model/work_model.h"

namespace ampere {

// Points are only ever added, so their number tells whether a model is still that of its points.
template <class Model>
struct Fitted {
  std::size_t points = 0;
  std::shared_ptr<const Model> model;
};

struct FittedModels {
  std::map<std::tuple<std::string, Quantity, Probes>, Fitted<SurfaceModel>> surfaces;
  // Of all points that tell what calls cost, for networks of either precision; absent where there are none.
  std::map<Computes, Fitted<WorkModel>> works;
  bool works_modelled = false;  // any of their energies comes from a model
  // What the works told last, since energy and time are asked for one after the other.
  std::vector<std::string> told_places;
  WorkCosts told;
  double seconds = 0;  // spent on fitting
};

}  // namespace ampere
