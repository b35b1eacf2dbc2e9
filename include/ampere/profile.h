// Profiling: the layers of a network are trained by themselves on the device, and what they cost is kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ampere/device.h"
#include "ampere/model.h"
#include "ampere/recipe.h"

namespace ampere {

// The defaults suit the device; 0 means so. Every point tells time and energy, but where a counter
// ticks ten times a second and no power is kept only some do: an energy takes ten times as long then.
struct ProfilingOptions {
  int points_1d = 0;         // most points of a kind of layer whose one channel number is free
  int points_2d = 0;         // of one where both are
  int energy_points_1d = 0;  // of those, with energy, where they are fewer than points
  int energy_points_2d = 0;
  double target_deviation = 0;  // a kind is known when its standard deviation is below this share of the cost
  std::string guide = "time";   // or "energy": whose variance chooses the next point
  int whole_networks = 6;       // trained beside it, to learn how well layers add up
  double budget_s = 0.8;        // of training per point
  double target_error = 0;      // relative standard error at which a point is done

  std::vector<std::string> methods = {"split"};  // also "paper", "neuralpower"
  // Above 0: fewer points at first, then the layers of this network at its own channels, those that matter
  // most first, until the half width of its energy's 95% interval is this share of the energy (0.05: 5%).
  // With "split" only.
  double target = 0;
  // Only the layers of this network, once each, at its own channels: enough for this network and for no
  // other. With "split" only, and without `target`.
  bool exact = false;
};

// Why a kind of layer needs no further points.
enum class StopWhy { kGoOn, kPointLimit, kCertain, kExhausted };
// "", "point limit", "certain", "nothing left"
const char* to_word(StopWhy why);

struct SurfaceSummary {
  std::string key;   // names the kind of layer
  int measured = 0;  // points, in this run
  int reused = 0;    // found in the store
  int refused = 0;   // did not fit the device's memory, or killed the worker
  StopWhy why = StopWhy::kGoOn;
  double deviation = 1;  // largest standard deviation over mean that is left
};

struct ProfileSummary {
  std::vector<SurfaceSummary> surfaces;
  int measured = 0;
  int reused = 0;
  int unstable = 0;    // points that never met the target error
  double seconds = 0;  // all in all
  double fitting_seconds = 0;
};

struct MethodProfile {
  std::string method;
  ProfileSummary summary;
  // With earlier runs for the same family and batch, as the store remembers them.
  double all_seconds = 0;
  double all_fitting_seconds = 0;
  int all_points = 0;
};

// Of ProfilingOptions::target.
struct Refinement {
  double half_width = 0;  // of the 95% interval of the energy, over the energy
  bool reached = false;
  int measured = 0;  // layers, in this run
  double seconds = 0;
};

// Layers measured at a network's own channels.
struct ProbeSummary {
  int layers = 0;    // distinct layers of the network
  int measured = 0;  // of them, now
  int known = 0;     // of them, measured before at these very channels
  double seconds = 0;
};

// What a profiling run did and why it ended. Running out of points, or falling short of the target, is no
// error.
struct ProfilingSummary {
  std::vector<MethodProfile> methods;    // empty with `exact`
  std::optional<Refinement> refinement;  // with `target`
  std::optional<ProbeSummary> exact;     // with `exact`
};

// Measures what is not in the store yet, point by point; each is kept at once, so a run that was stopped goes
// on where it was. The device must be one that can measure. Layers too large for its memory are left out.
// Throws Error{kBadInput} before anything is started: for options that make no sense, and for a network that
// does not fit the batch; Error{kWorker} when the worker dies again and again, Error{kNoMeter} when its meter
// stands still.
ProfilingSummary profile(Device& device, const Model& model, const TrainingSetup& setup,
                         const ProfilingOptions& options = {}, const OnStep& on_step = {});

// Of measuring a device, and no network in particular.
struct DeviceSummary {
  int candidates = 0;     // layers that were considered
  int measured = 0;       // of them, in this run
  int known = 0;          // of them, measured before
  int refused = 0;        // did not fit the device's memory
  double seconds = 0;     // all in all
  bool modelled = false;  // any of the energies comes from a model
};

// Makes a device known for networks that nobody has measured: for so many minutes, layers of random networks
// are measured once each, those first that tell the most about all others (docs/one_model.md). Each is kept
// at once; it may be stopped at any moment, and the next run goes on. estimate() then tells any network under
// this precision, with a wide interval. Throws Error{kBadInput} for minutes that are not above 0 or more than
// a day, and what profile() throws.
DeviceSummary profile_device(Device& device, double minutes = 5, const Recipe& recipe = {},
                             const OnStep& on_step = {});

// What was taken from elsewhere.
struct RelativeSummary {
  std::string device;   // as it is called in this store from now on
  bool sister = false;  // another card of the name under the same driver and framework
  int points = 0;       // that count here, too
};

// Lets what was measured on a relative of this device count for it, as far as relatives are alike: another
// card of the name, or the same hardware under another driver or version of the framework. A handful of
// measurements here (profile_device(), 20 s) then tell how this one differs. `from` is the path of a store,
// its device used last being meant, or the id of a device in this device's own store. Throws
// Error{kBadInput} where there is no such device, where it is no relative, or where its meter was another.
RelativeSummary learn_from(Device& device, const std::string& from);

// A call of a captured step, or several that belong together, such as attention and its gradient: which of
// the kinds it is, and which of the step's calls.
struct StepCall {
  int kind = 0;
  std::vector<int> calls;  // by number: those of the forward pass first, then of backward, then of the update
};

// Runs a whole captured step on the device and keeps what its calls take within it, without their energies:
// one point for each kind that is among the 32 that take the longest. `step` is one layer, all calls of the
// step; `kinds` has one layer for each kind, the same calls by themselves. Returns how many kinds are known
// by it. Throws Error{kBadInput} for steps that are no captured ones, for places that are not there and for
// workers that cannot time calls.
int time_calls(Device& device, const Model& step, const Model& kinds, const std::vector<StepCall>& calls,
               const TrainingSetup& setup);

// One network of a population: which parts it has, by their places among the candidates, and how often.
struct PartCount {
  int part = 0;
  double count = 1;
};
using PartCounts = std::vector<PartCount>;

// Which captured parts to measure so that networks nobody has seen become known soonest: an order of the
// candidates' layers that are not in the store yet, at most `most` of them, the best first. Networks like
// those of the population gain the most. profile() with `exact` measures them. Throws Error{kBadInput} for
// candidates that are no captured parts and for places that are not there.
std::vector<int> parts_to_measure(Device& device, const Model& candidates, const TrainingSetup& setup,
                                  const std::vector<PartCounts>& population, int most);

}  // namespace ampere
