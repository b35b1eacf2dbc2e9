// The profiling run: measures what the plans still lack, guided by the models' own uncertainty.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ampere/profile.h"
#include "measure/measure.h"
#include "model/layer_models.h"
#include "profile/guided.h"

namespace ampere {

struct ProfileProgress {
  std::string surface;  // being measured; empty at the end
  int surfaces_done = 0;
  int surfaces = 0;
  int points = 0;           // measured in this run
  int points_expected = 0;  // at most, in this run
  double seconds_left = 0;
};

// Where on the surfaces to measure; how is the business of MeasureOptions.
struct PlaceOptions {
  GuidedOptions guided;
  // Most points with energy, after which time alone is measured; 0: all. For meters that take half a second
  // where a time takes 50 ms, because their counter ticks ten times a second and no power is kept.
  int energy_points_1d = 0;
  int energy_points_2d = 0;
  // Layers whose own places are measured first, with energy: those of whole networks that will be compared
  // with the sums of their layers, so that the comparison shows how layers add up and not how rough a surface
  // is.
  std::vector<Layer> layers;
  // Layers of random networks like those that will be estimated: their places are where points are spread. In
  // a residual network most layers have as many channels in as out, and the rest of the plane is no use.
  std::vector<Layer> typical;
  // The quantity whose variance guides: time is the paper's surrogate where energy is hard to read.
  Quantity guide = Quantity::kTime;
};

struct ProfileOptions {
  MeasureOptions how;
  PlaceOptions where;
  // Called after each surface: whole networks can be trained in between, so that slow drifts of the machine
  // fall on layers and whole networks alike.
  std::function<void()> between_surfaces;
  std::function<void(const ProfileProgress&)> progress;  // called before each point and at the end
};

// Measures the plans in order. Points that are too large for the device, or
// that the worker dies of twice, are left out; anything else is thrown, with all earlier points kept.
ProfileSummary run_profile(DeviceProfile& profile, const std::vector<SurfacePlan>& plans,
                           const Measure& measure, const ProfileOptions& options);

}  // namespace ampere
