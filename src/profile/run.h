// The profiling run: measures what the plans still lack, guided by the models' own uncertainty.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/device_profile.h"
#include "profile/guided.h"
#include "protocol/messages.h"

namespace ampere {

// Trains what it is sent and tells what an iteration cost: a worker, or a stand-in in tests.
using Measure = std::function<Measurement(const MeasureRequest&)>;

struct ProfileProgress {
  std::string surface;  // being measured; empty at the end
  int surfaces_done = 0;
  int surfaces = 0;
  int points = 0;           // measured in this run
  int points_expected = 0;  // at most, in this run
  double seconds_left = 0;
};

struct ProfileOptions {
  GuidedOptions guided;
  // True: time alone is measured at most points, and energy at those that `guided_energy` asks for. For
  // devices where a time takes 50 ms and an energy half a second, because the counter ticks ten times a
  // second.
  bool sparse_energy = false;
  GuidedOptions guided_energy;
  // Layers whose own places are measured first, with energy: those of whole networks that will be compared
  // with the sums of their layers, so that the comparison shows how layers add up and not how rough a surface
  // is.
  std::vector<Layer> layers;
  // Layers of random networks like those that will be estimated: their places are where points are spread. In
  // a residual network most layers have as many channels in as out, and the rest of the plane is no use.
  std::vector<Layer> typical;
  // The quantity whose variance guides: time is the paper's surrogate where energy is hard to read.
  Quantity guide = Quantity::kTime;
  MeasureMode mode = MeasureMode::kEager;
  Recipe recipe;
  std::string meter;
  double target_error = 0.01;
  double window_s = 0.05;
  double warm_up_s = 0.08;
  double budget_s = 0.8;  // of training per point
  int min_windows = 5;
  int min_ticks = 10;  // of a counter, in one window
  bool discard_first = true;
  // Called after each surface: whole networks can be trained in between, so that slow drifts of the machine
  // fall on layers and whole networks alike.
  std::function<void()> between_surfaces;
  std::function<void(const ProfileProgress&)> progress;  // called before each point and at the end
};

struct SurfaceSummary {
  std::string key;
  int measured = 0;  // in this run
  int reused = 0;    // found in the store
  int refused = 0;   // did not fit the device's memory, or killed the worker
  StopWhy why = StopWhy::kGoOn;
  double deviation = 1;
};

struct ProfileSummary {
  std::vector<SurfaceSummary> surfaces;
  int measured = 0;
  int reused = 0;
  int unstable = 0;    // points that never met the target error
  double seconds = 0;  // all in all
  double fitting_seconds = 0;
};

// Adds the plans to the profile and measures them in order. Points that are too large for the device, or
// that the worker dies of twice, are left out; anything else is thrown, with all earlier points kept.
ProfileSummary run_profile(DeviceProfile& profile, const std::vector<SurfacePlan>& plans,
                           const Measure& measure, const ProfileOptions& options);

// The request that measures a variant under these options; without energy it takes about 50 ms.
MeasureRequest request_for(const Variant& variant, std::int64_t batch, const ProfileOptions& options);
MeasureRequest without_energy(MeasureRequest request);

// Throws Error{kNoMeter} where energy was asked for and none came back.
Measurement measure_as_asked(const Measure& measure, const MeasureRequest& request);

// What is written beside a point: the network and how it was trained.
std::string provenance(const MeasureRequest& request);

}  // namespace ampere
