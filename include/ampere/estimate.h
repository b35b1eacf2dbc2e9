// What training a network will cost, with how sure that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ampere/device.h"
#include "ampere/model.h"
#include "ampere/profile.h"
#include "ampere/recipe.h"

namespace ampere {

// An expected value and the bounds that hold it with 95% probability. Times a number of iterations it is that
// of all of them together: the error is one of the estimate and does not average out.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};
Interval operator*(const Interval& interval, double factor);

// Iterations of a job: whole batches, the last of an epoch may be smaller. Throws Error{kBadInput} for
// figures below 1.
double iterations_of(std::int64_t samples, std::int64_t batch, std::int64_t epochs);

struct LayerEstimate {
  std::string name;
  LayerRole role = LayerRole::kHidden;
  std::string kind;
  Channels channels;
  Interval energy_j;          // per iteration
  Interval time_s;            // per iteration
  bool extrapolated = false;  // outside the channels that were profiled
  bool measured = true;       // false: told by what else was measured on the device
};

enum class Regime {
  kSingle,  // one clock: the CPU does all the work
  kDevice,  // the accelerator is busy all the time
  kHost,    // the accelerator waits for the host to issue work
};
// "cpu", "device-bound", "host-bound"
const char* to_word(Regime regime);

// What it would bring to measure the layers that never were (EstimateOptions::exact).
struct MeasuringGain {
  int layers = 0;      // different ones that would be measured
  double seconds = 0;  // that it would take, about
  Interval energy_j;   // per iteration, as wide as it would be then
};

struct Estimate {
  std::string method;
  Interval energy_j;          // per iteration
  Interval time_s;            // per iteration
  double fixed_energy_j = 0;  // of an iteration without any layer, part of energy_j
  double fixed_time_s = 0;
  // On two clocks: what the device itself does, what the host takes to issue it, what is drawn while waiting.
  double device_energy_j = 0;
  double device_time_s = 0;
  double host_time_s = 0;
  double idle_power_w = 0;
  Regime regime = Regime::kSingle;
  // Share of the energy of layers that were never measured here, nor enough of their kind; what else was
  // measured on the device tells them (docs/one_model.md).
  double unmeasured = 0;
  std::optional<MeasuringGain> gain;  // where there are such layers
  bool modelled = false;              // energies come from a model (CPU time times watts), not from a counter
  double composition_factor = 1;      // on energies, learned from whole networks; layers carry it already
  int composition_networks = 0;       // how many it was learned from
  // The setting it is told for, which is modelled (docs/tuning.md); 0: as the device comes.
  double power_limit_w = 0;
  double clock_mhz = 0;
  std::vector<LayerEstimate> layers;
  std::optional<ProbeSummary> probed;  // what was measured for it, if that was asked for
};

struct EstimateOptions {
  std::string method = "split";            // also "paper", "neuralpower"; each needs its own profile
  MeasureMode mode = MeasureMode::kEager;  // how it will be trained
  // Measures the layers that matter first, or with `exact` all of them, which needs no profile: a quarter of
  // a second each where the device keeps its power, else up to a second. Where it does, `probe` takes at most
  // 0.15 s for each layer of the network, the least sure kinds first. On devices that can measure; with
  // "split" only. They are kept in the store.
  bool probe = false;
  bool exact = false;
  // Under a power limit, or at a locked clock, of the device: told by what such settings did to other
  // networks (docs/tuning.md), not by another profile. 0: as the device comes.
  double power_limit_w = 0;
  double clock_mhz = 0;
};

// Without probing it needs no worker and measures nothing: it follows from the store, the network and the
// options alone. Kinds of layers that nobody measured are told by what else was measured on the device, with
// a wide interval. Throws Error{kNotProfiled} that lists every kind of layer that is missing, where nothing
// at all is known of the device under such a recipe or the method is another than "split"; Error{kBadInput}
// for options that make no sense here, and what profile() throws where it probes.
Estimate estimate(Device& device, const Model& model, const TrainingSetup& setup,
                  const EstimateOptions& options = {}, const OnStep& on_step = {});

}  // namespace ampere
