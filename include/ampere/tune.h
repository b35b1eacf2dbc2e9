// Which settings to train with before anyone does: batch, precision, optimizer, memory layout, threads, power
// limit, clock (docs/tuning.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"
#include "ampere/tariff.h"

namespace ampere {

// One way to train a network, all else alike.
struct TrainingSetting {
  std::int64_t batch = 1;
  // Of captured steps, which Python makes, also the optimizer "adamw" or any other word, and the precision
  // "fp16" (with scaling).
  Recipe recipe = {};
  bool channels_last = false;  // how images lie in memory; of captured steps only
  double power_limit_w = 0;    // 0: as the device comes
  double clock_mhz = 0;        // 0: as the device comes

  friend bool operator==(const TrainingSetting& a, const TrainingSetting& b) {
    return a.batch == b.batch && a.recipe.word() == b.recipe.word() && a.channels_last == b.channels_last &&
           a.power_limit_w == b.power_limit_w && a.clock_mhz == b.clock_mhz;
  }
};

// One way to train on the device as it comes, and what an iteration takes so.
struct TuneCandidate {
  TrainingSetting setting = {};
  std::optional<Estimate> estimate = {};  // absent: nothing tells it
  std::string why = {};                   // nothing does
};

enum class Objective {
  kEnergy,
  kTime,
  kEnergyDelay,  // energy times time
  kCost,         // of the energy and of the device's hours; takes a price
};
// "energy", "time", "energy*delay", "cost"
const char* to_word(Objective objective);

struct TuneOptions {
  std::int64_t samples = 0;  // of an epoch
  std::int64_t epochs = 1;
  Objective objective = Objective::kEnergy;
  std::optional<double> most_slower = {};  // 0.1: at most 10% longer than the present setting, as expected
  std::optional<double> deadline_s = {};   // of the whole job, which keeps it with 97.5% probability
  Tariff tariff = {};
  double price_per_hour = 0;  // of the device, in the tariff's currency
  MeasureMode mode = MeasureMode::kEager;
  // What may be chosen; an empty list leaves what is present. The present value is always among them.
  // Batches, precisions and optimizers change what the network learns, which nobody here judges.
  std::vector<std::int64_t> batches = {};
  std::vector<std::string> optimizers = {};
  std::vector<std::string> precisions = {};
  std::vector<bool> autotune = {};
  std::vector<int> threads = {};
  std::vector<double> power_limits_w = {};
  std::vector<double> clocks_mhz = {};
};

// The whole job under one setting.
struct TuneOutcome {
  TrainingSetting setting = {};
  Interval energy_j = {};
  Interval time_s = {};
  double device_energy_j = 0;  // of them, while the device does not wait for its host
  double device_time_s = 0;
  std::optional<Interval> cost = {};
  double objective = 0;        // what is made small
  bool on_front = false;       // no other setting needs both less energy and less time
  bool allowed = true;         // keeps --slower and --deadline
  bool measured = false;       // corrected by training it for a moment, or the same as the device comes
  double power_deviation = 0;  // of the logarithm of energy: what the power setting leaves open
};

// What one change is worth, against the outcome before it.
struct TuneStep {
  std::string change = {};  // "bf16 instead of default", "300 W"
  Interval energy = {};     // share saved; negative: it takes more
  Interval time = {};       // share saved
};

// What else the estimates say, and the figures that it rests on.
struct TuneAdvice {
  std::string what = {};
  std::string evidence = {};
};

struct Tuned {
  std::vector<TuneOutcome> outcomes = {};      // every combination that could be told
  std::vector<TuneCandidate> candidates = {};  // what they were told from
  std::size_t present = 0;                     // index into outcomes
  std::size_t best = 0;                        // index into outcomes
  std::vector<std::size_t> front = {};         // indices, the quickest first
  Interval saved_energy = {};                  // share of the present setting's that the best one saves
  Interval saved_time = {};
  std::vector<TuneStep> steps = {};        // from the present to the best, one change after the other
  std::vector<TuneStep> singles = {};      // each of those changes by itself
  std::vector<TuneAdvice> advice = {};     // about the best one
  std::vector<std::string> left_out = {};  // settings that nothing tells, with why
  bool modelled = false;                   // energies come from a model (CPU time times watts)
};

// Needs no worker. Throws Error{kNotProfiled} where the present setting cannot be told, Error{kOverBudget}
// where no setting keeps what was asked for, and Error{kBadInput}.
Tuned tune(Device& device, const Model& model, const TrainingSetup& present, const TuneOptions& options);

// The same among candidates that somebody has estimated, each under every power limit and clock of the
// options, whose other lists count for nothing. The first is the present setting.
Tuned tune(Device& device, const std::vector<TuneCandidate>& candidates, const TuneOptions& options);

// The power limits that are worth looking at where none is named: in steps of 50 W, as far as the device's
// levers are known. Empty: they are not.
std::vector<double> usual_limits(Device& device);

}  // namespace ampere
