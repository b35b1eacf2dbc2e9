// Which settings to train with before anyone does: batch, precision, threads, power limit, clock
// (docs/tuning.md).
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
  Recipe recipe = {};
  double power_limit_w = 0;  // 0: as the device comes
  double clock_mhz = 0;      // 0: as the device comes

  friend bool operator==(const TrainingSetting& a, const TrainingSetting& b) {
    return a.batch == b.batch && a.recipe.word() == b.recipe.word() && a.power_limit_w == b.power_limit_w &&
           a.clock_mhz == b.clock_mhz;
  }
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
  // What may be chosen; an empty list leaves what is present. The present value is always among them. Batches
  // and precisions change what the network learns, which nobody here judges.
  std::vector<std::int64_t> batches = {};
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

struct Tuned {
  std::vector<TuneOutcome> outcomes = {};  // every combination that could be told
  std::size_t present = 0;                 // index into outcomes
  std::size_t best = 0;                    // index into outcomes
  std::vector<std::size_t> front = {};     // indices, the quickest first
  Interval saved_energy = {};              // share of the present setting's that the best one saves
  Interval saved_time = {};
  std::vector<TuneStep> steps = {};        // from the present to the best, one change after the other
  std::vector<TuneStep> singles = {};      // each of those changes by itself
  std::vector<std::string> left_out = {};  // settings that nothing tells, with why
  bool modelled = false;                   // energies come from a model (CPU time times watts)
};

// Needs no worker. Throws Error{kNotProfiled} where the present setting cannot be told, Error{kOverBudget}
// where no setting keeps what was asked for, and Error{kBadInput}.
Tuned tune(Device& device, const Model& model, const TrainingSetup& present, const TuneOptions& options);

}  // namespace ampere
