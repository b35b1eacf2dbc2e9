#include "tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/statistics.h"
#include "tune/advice.h"
#include "tune/limited.h"

namespace ampere {
namespace {

constexpr std::size_t kMostOutcomes = 20000;
// Correlation of the errors of two estimates of one network, of other precisions or batches, where nothing of
// it was measured: 0.5 to 0.6 on an H200 (bench/shared_errors.py).
constexpr double kAlike = 0.5;
constexpr double kLimitStep = 50;  // watts between limits that are looked at when none is named

// The present value first, the others in their order, each once.
template <class Value>
std::vector<Value> with_present(const Value& present, const std::vector<Value>& others) {
  std::vector<Value> all = {present};
  for (const Value& other : others) {
    if (std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
  }
  return all;
}

void check_tuning(const TuneOptions& o) {
  if (o.samples < 1 || o.epochs < 1)
    throw bad_input("a job has samples and epochs of 1 or more: --samples N --epochs E");
  if (o.objective == Objective::kCost && !o.tariff.price_per_kwh && !(o.price_per_hour > 0))
    throw bad_input("the objective cost needs a price: --price 0.30/kWh, or --device-price 2/h");
  if (o.most_slower && !(*o.most_slower >= 0)) throw bad_input("--slower must not be negative");
  if (o.deadline_s && !(*o.deadline_s > 0)) throw bad_input("--deadline must be positive");
  for (const std::int64_t batch : o.batches) {
    if (batch < 1) throw bad_input("a batch has 1 sample or more");
  }
}

void check_count(std::size_t candidates, const TuneOptions& o) {
  if (candidates * (1 + o.power_limits_w.size() + o.clocks_mhz.size()) > kMostOutcomes)
    throw bad_input("these are more than " + std::to_string(kMostOutcomes) +
                    " combinations; name fewer --settings");
}

double objective_of(const TuneOutcome& outcome, Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return outcome.time_s.value;
    case Objective::kEnergyDelay:
      return outcome.energy_j.value * outcome.time_s.value;
    case Objective::kCost:
      return outcome.cost ? outcome.cost->value : std::numeric_limits<double>::infinity();
    default:
      return outcome.energy_j.value;
  }
}

// Both parts err together in the worst case: never too narrow.
std::optional<Interval> cost_of(const TuneOutcome& outcome, const TuneOptions& o) {
  if (!o.tariff.price_per_kwh && !(o.price_per_hour > 0)) return std::nullopt;
  const double per_j = o.tariff.price_per_kwh.value_or(0) / 3.6e6, per_s = o.price_per_hour / 3600;
  const auto sum = [&](double energy_j, double time_s) { return energy_j * per_j + time_s * per_s; };
  return Interval{sum(outcome.energy_j.value, outcome.time_s.value),
                  sum(outcome.energy_j.low, outcome.time_s.low),
                  sum(outcome.energy_j.high, outcome.time_s.high)};
}

double log_deviation(const Interval& i) {
  return i.value > 0 && i.high > i.value ? std::log(i.high / i.value) / kZ95 : 0;
}

// Of layers that nobody measured; 0 where it was trained for a moment.
double unmeasured_share(const Tuned& tuned, const TrainingSetting& setting) {
  for (const TuneOutcome& outcome : tuned.outcomes) {
    if (outcome.measured && same_training(outcome.setting, setting)) return 0;
  }
  for (const TuneCandidate& candidate : tuned.candidates) {
    if (candidate.estimate && same_training(candidate.setting, setting))
      return candidate.estimate->unmeasured;
  }
  return 0;
}

// The share of `before` that `after` saves. Under one batch and recipe both rest on one estimate, whose error
// they share: only what their power settings leave open counts. Under others, layers that nobody measured are
// told wrong in part alike.
Interval saving(const Tuned& tuned, const TuneOutcome& before, const TuneOutcome& after,
                Interval TuneOutcome::*quantity) {
  const double ratio = (after.*quantity).value / (before.*quantity).value;
  double deviation;
  if (same_training(before.setting, after.setting)) {
    deviation = std::hypot(before.power_deviation, after.power_deviation);
  } else {
    const double a = log_deviation(before.*quantity), b = log_deviation(after.*quantity);
    const double alike =
        kAlike * std::min(unmeasured_share(tuned, before.setting), unmeasured_share(tuned, after.setting));
    deviation = std::sqrt(a * a + b * b - 2 * alike * a * b);
  }
  const double factor = std::exp(kZ95 * deviation);
  return {1 - ratio, 1 - ratio * factor, 1 - ratio / factor};
}

std::string power_text(const TrainingSetting& s) { return PowerSetting{s.power_limit_w, s.clock_mhz}.text(); }

struct SettingChange {
  std::string text;
  void (*apply)(TrainingSetting& to, const TrainingSetting& from);
};

// What differs, in the order in which people would change it.
std::vector<SettingChange> changes_between(const TrainingSetting& from, const TrainingSetting& to) {
  std::vector<SettingChange> changes;
  if (from.recipe.precision != to.recipe.precision)
    changes.push_back(
        {to.recipe.precision + " instead of " + from.recipe.precision,
         [](TrainingSetting& a, const TrainingSetting& b) { a.recipe.precision = b.recipe.precision; }});
  if (from.channels_last != to.channels_last)
    changes.push_back(
        {to.channels_last ? "channels last" : "channels first",
         [](TrainingSetting& a, const TrainingSetting& b) { a.channels_last = b.channels_last; }});
  if (from.recipe.optimizer != to.recipe.optimizer)
    changes.push_back(
        {to.recipe.optimizer + " instead of " + from.recipe.optimizer,
         [](TrainingSetting& a, const TrainingSetting& b) { a.recipe.optimizer = b.recipe.optimizer; }});
  if (from.recipe.autotune != to.recipe.autotune)
    changes.push_back(
        {to.recipe.autotune ? "kernel autotuning" : "no kernel autotuning",
         [](TrainingSetting& a, const TrainingSetting& b) { a.recipe.autotune = b.recipe.autotune; }});
  if (from.batch != to.batch)
    changes.push_back({"batch " + std::to_string(to.batch) + " instead of " + std::to_string(from.batch),
                       [](TrainingSetting& a, const TrainingSetting& b) { a.batch = b.batch; }});
  if (from.recipe.threads != to.recipe.threads)
    changes.push_back(
        {std::to_string(to.recipe.threads) + " threads instead of " + std::to_string(from.recipe.threads),
         [](TrainingSetting& a, const TrainingSetting& b) { a.recipe.threads = b.recipe.threads; }});
  if (from.power_limit_w != to.power_limit_w || from.clock_mhz != to.clock_mhz)
    changes.push_back({power_text(to), [](TrainingSetting& a, const TrainingSetting& b) {
                         a.power_limit_w = b.power_limit_w;
                         a.clock_mhz = b.clock_mhz;
                       }});
  return changes;
}

const TuneOutcome* find_outcome(const Tuned& tuned, const TrainingSetting& setting) {
  const auto found = std::find_if(tuned.outcomes.begin(), tuned.outcomes.end(),
                                  [&](const TuneOutcome& outcome) { return outcome.setting == setting; });
  return found == tuned.outcomes.end() ? nullptr : &*found;
}

void explain(Tuned& tuned) {
  const TuneOutcome& present = tuned.outcomes[tuned.present];
  const TuneOutcome& best = tuned.outcomes[tuned.best];
  tuned.saved_energy = saving(tuned, present, best, &TuneOutcome::energy_j);
  tuned.saved_time = saving(tuned, present, best, &TuneOutcome::time_s);
  tuned.steps.clear();
  tuned.singles.clear();
  const TuneOutcome* before = &present;
  TrainingSetting walked = present.setting;
  for (const SettingChange& change : changes_between(present.setting, best.setting)) {
    TrainingSetting alone = present.setting;
    change.apply(alone, best.setting);
    if (const TuneOutcome* outcome = find_outcome(tuned, alone))
      tuned.singles.push_back({change.text, saving(tuned, present, *outcome, &TuneOutcome::energy_j),
                               saving(tuned, present, *outcome, &TuneOutcome::time_s)});
    change.apply(walked, best.setting);
    const TuneOutcome* after = find_outcome(tuned, walked);
    if (after == nullptr) continue;  // nothing tells that combination; the next step holds both changes
    tuned.steps.push_back({change.text, saving(tuned, *before, *after, &TuneOutcome::energy_j),
                           saving(tuned, *before, *after, &TuneOutcome::time_s)});
    before = after;
  }
}

void find_front(Tuned& tuned) {
  std::vector<std::size_t> order(tuned.outcomes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TuneOutcome &x = tuned.outcomes[a], &y = tuned.outcomes[b];
    if (x.time_s.value != y.time_s.value) return x.time_s.value < y.time_s.value;
    if (x.energy_j.value != y.energy_j.value) return x.energy_j.value < y.energy_j.value;
    return a < b;
  });
  tuned.front.clear();
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    TuneOutcome& outcome = tuned.outcomes[i];
    outcome.on_front = outcome.energy_j.value < least;
    if (!outcome.on_front) continue;
    least = outcome.energy_j.value;
    tuned.front.push_back(i);
  }
}

// All settings of power, the present one first: as it comes, limits, clocks.
std::vector<PowerSetting> powers_of(const TuneOptions& o) {
  std::vector<PowerSetting> powers = {{}};
  for (const double limit : o.power_limits_w) powers.push_back({limit, 0});
  for (const double clock : o.clocks_mhz) powers.push_back({0, clock});
  return powers;
}

}  // namespace

const char* to_word(Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return "time";
    case Objective::kEnergyDelay:
      return "energy*delay";
    case Objective::kCost:
      return "cost";
    default:
      return "energy";
  }
}

void choose(Tuned& tuned, const TuneOptions& o) {
  const TuneOutcome& present = tuned.outcomes[tuned.present];
  const double most_s = o.most_slower ? (1 + *o.most_slower) * present.time_s.value * (1 + 1e-12)
                                      : std::numeric_limits<double>::infinity();
  const TuneOutcome* best = nullptr;
  double quickest_s = std::numeric_limits<double>::infinity();
  for (TuneOutcome& outcome : tuned.outcomes) {
    outcome.cost = cost_of(outcome, o);
    outcome.objective = objective_of(outcome, o.objective);
    outcome.allowed =
        outcome.time_s.value <= most_s && (!o.deadline_s || outcome.time_s.high <= *o.deadline_s);
    quickest_s = std::min(quickest_s, outcome.time_s.high);
    if (outcome.allowed && (best == nullptr || outcome.objective < best->objective)) best = &outcome;
  }
  if (best == nullptr)
    throw Error(ErrorKind::kOverBudget,
                "no setting is quick enough: the quickest takes " + std::to_string(std::llround(quickest_s)) +
                    " s at the upper end of its interval; give it a later --deadline, or more --settings");
  tuned.best = static_cast<std::size_t>(best - tuned.outcomes.data());
  find_front(tuned);
  explain(tuned);
  tuned.advice = advice_of(tuned, o);
}

bool same_training(const TrainingSetting& a, const TrainingSetting& b) {
  return a.batch == b.batch && a.recipe.word() == b.recipe.word() && a.channels_last == b.channels_last;
}

std::string training_text(const TrainingSetting& s) {
  return "batch " + std::to_string(s.batch) + ", " + s.recipe.word() +
         (s.channels_last ? ", channels last" : "");
}

std::string setting_text(const TrainingSetting& s) { return training_text(s) + ", " + power_text(s); }

std::vector<double> limits_of(const LeverModel& levers) {
  const LeverDevice& d = levers.device();
  std::vector<double> limits;
  for (double limit = std::ceil(d.least_limit_w / kLimitStep) * kLimitStep; limit < d.usual_limit_w;
       limit += kLimitStep)
    limits.push_back(limit);
  return limits;
}

std::vector<TuneCandidate> candidates_of(const TrainingSetup& present, const TuneOptions& o,
                                         const EstimateBase& base) {
  check_tuning(o);
  const auto batches = with_present(present.batch, o.batches);
  const auto precisions = with_present(present.recipe.precision, o.precisions);
  const auto optimizers = with_present(present.recipe.optimizer, o.optimizers);
  const std::vector<bool> autotune = with_present<bool>(present.recipe.autotune, o.autotune);
  const auto threads = with_present(present.recipe.threads, o.threads);
  check_count(batches.size() * precisions.size() * optimizers.size() * autotune.size() * threads.size(), o);
  std::vector<TuneCandidate> candidates;
  for (const std::int64_t batch : batches) {
    for (const std::string& precision : precisions) {
      for (const std::string& optimizer : optimizers) {
        for (const bool tuned_kernels : autotune) {
          for (const int count : threads) {
            Recipe recipe = present.recipe;
            recipe.precision = precision;
            recipe.optimizer = optimizer;
            recipe.autotune = tuned_kernels;
            recipe.threads = count;
            TuneCandidate candidate{{batch, recipe}, {}, {}};
            candidate.estimate = base(batch, recipe, candidate.why);
            candidates.push_back(std::move(candidate));
          }
        }
      }
    }
  }
  return candidates;
}

Tuned search_settings(std::vector<TuneCandidate> candidates, const TuneOptions& o, const LeverModel* levers) {
  check_tuning(o);
  check_count(candidates.size(), o);
  Tuned tuned;
  const auto powers = powers_of(o);
  if (powers.size() > 1 && levers == nullptr)
    throw bad_input(
        "what power limits and clocks do to this device was never measured; leave limit and clock out of "
        "--settings");
  if (candidates.empty()) throw bad_input("there is no setting to choose from");
  for (const TuneCandidate& c : candidates) {
    if (!c.estimate) {
      tuned.left_out.push_back(training_text(c.setting) + ": " + c.why);
      continue;
    }
    const Estimate& e = *c.estimate;
    tuned.modelled = tuned.modelled || e.modelled;
    const double iterations = iterations_of(o.samples, c.setting.batch, o.epochs);
    for (const PowerSetting& power : powers) {
      const Estimate under = power.as_it_comes() ? e : limited(e, *levers, power);
      TuneOutcome outcome;
      outcome.setting = c.setting;
      outcome.setting.power_limit_w = power.limit_w;
      outcome.setting.clock_mhz = power.clock_mhz;
      outcome.energy_j = under.energy_j * iterations;
      outcome.time_s = under.time_s * iterations;
      outcome.device_energy_j = under.device_energy_j * iterations;
      outcome.device_time_s = under.device_time_s * iterations;
      if (!power.as_it_comes())
        outcome.power_deviation = std::sqrt(std::max(
            0.0, std::pow(log_deviation(under.energy_j), 2) - std::pow(log_deviation(e.energy_j), 2)));
      tuned.outcomes.push_back(outcome);
    }
  }
  TrainingSetting now = candidates.front().setting;
  now.power_limit_w = now.clock_mhz = 0;
  const TuneOutcome* found = find_outcome(tuned, now);
  if (found == nullptr)
    throw Error(ErrorKind::kNotProfiled,
                tuned.left_out.empty() ? "nothing tells the present setting" : tuned.left_out.front());
  tuned.present = static_cast<std::size_t>(found - tuned.outcomes.data());
  tuned.candidates = std::move(candidates);
  choose(tuned, o);
  return tuned;
}

}  // namespace ampere
