// What a device costs once it is warm: its thermal state, learned from one long run.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ampere/estimate.h"
#include "base/json.h"
#include "measure/measure.h"
#include "store/store.h"

namespace ampere {

// One stretch of a long run.
struct WarmSample {
  double until_s = 0;  // since the run began
  double time_s = 0;   // of an iteration
  double power_w = 0;
};

// What was learned. A device gets rid of so much heat and no more: what would draw more than `sustained_w` is
// slowed down until it draws that.
struct ThermalState {
  double idle_w = 0;
  double cold_w = 0;       // drawn by the run before it was slowed down
  double warm = 1;         // power just before, over power at the beginning: warm chips leak
  double sustained_w = 0;  // drawn at the end; where nothing slowed down, the least that it can sustain
  double slowdown = 1;     // time of an iteration at the end over that at the beginning
  double exponent = 0;     // power above idle goes with speed to this power
  double time_constant_s = 0;
  double seconds = 0;  // of the run
  bool slowed = false;
};
Json to_json(const ThermalState& state);
ThermalState thermal_state_from_json(const Json& json);

// Throws Error{kBadInput} for a run that is too short to tell.
ThermalState learn_thermal(const std::vector<WarmSample>& run, double idle_w);

// Trains for so long without a rest, one request after the other; `progress` gets the seconds so far.
std::vector<WarmSample> run_long(const Measure& measure, MeasureRequest request, double seconds,
                                 const std::function<void(double)>& progress = {});

// Kept beside the device's points.
void put_thermal(Store& store, const std::string& device, const ThermalState& state);
std::optional<ThermalState> stored_thermal(const Store& store, const std::string& device);

// What an iteration takes when the device is as warm as this training makes it.
struct SustainedCost {
  double energy = 1, time = 1;    // over those of a cold device
  double seconds_until_slow = 0;  // from cold; 0: never
  double power_w = 0;
};
SustainedCost sustained_cost(const ThermalState& state, double energy_j, double time_s);
// The same of a job that begins cold and would take so long on a cold device.
SustainedCost job_cost_of(const ThermalState& state, double energy_j, double time_s, double cold_seconds);

// With energies and times of all layers as they are then; wider by what is not known of it.
Estimate sustained(Estimate estimate, const SustainedCost& cost);

}  // namespace ampere
