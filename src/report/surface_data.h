// One surface as figures need it: what the model says over the channels, the points it was fitted to, the
// points it was not, and how it came to be known step by step.
#pragma once

#include "model/layer_models.h"
#include "report/known_plans.h"

namespace ampere {

// {"method", "role", "kind", "recipe", "axes", "quantities": {"energy_j": {...}, "time_s": {...}}, "steps"}.
// Numbers have five digits, which is more than a figure shows.
//
// A quantity over one axis has "x", "mean", "low", "high" (95%); over two axes "x", "y" and, row by row of y,
// "mean" and "deviation" (relative). "points" are [in, out, value, relative error] in the order they were
// measured, "tests" are those that were measured beside the profile and that the fit does not know.
// "steps" are the fits after so many points: of one axis as above, of two the deviation over a coarse grid.
// The plans of the surface and of what it subtracts must be among those of the models.
Json surface_data(const LayerModels& models, const KnownSurface& surface);

}  // namespace ampere
