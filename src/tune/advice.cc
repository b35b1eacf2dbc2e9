#include "tune/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tune/search.h"

namespace ampere {
namespace {

// Below these shares a figure is no reason to change anything.
constexpr double kMuchWaiting = 0.1;     // of a step, for the host
constexpr double kMuchUpdating = 0.1;    // of the device's time, by the optimizer
constexpr double kMuchOfTime = 0.3;      // of the device's time, by layers with batch norm
constexpr double kQuicker = 1.15;        // so much less do such layers gain than the others
constexpr double kMuchUnmeasured = 0.5;  // of the energy
constexpr double kNothing = 0.005;       // a limit that changes less than this does nothing

std::string whole_percent(double share) {
  char text[24];
  std::snprintf(text, sizeof text, "%.0f%%", 100 * share);
  return text;
}

std::string three_digits(double value) {
  char text[24];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string milliseconds(double seconds) { return three_digits(1e3 * seconds) + " ms"; }
std::string joules(double energy) { return three_digits(energy) + " J"; }
std::string watts(double power) { return three_digits(power) + " W"; }

// "conv3x3p1nb-bn-relu@56x56b8" as networks of ops have it, "Conv2d-BatchNorm2d-ReLU@..." as captured ones
// do.
bool has_batch_norm(const LayerEstimate& layer) {
  return layer.kind.find("-bn") != std::string::npos || layer.kind.find("BatchNorm") != std::string::npos;
}

bool is_work(const LayerEstimate& layer) { return layer.name != "(input)" && layer.name != "(host)"; }

// Time of an iteration in layers that `which` names, and in the others.
struct Parts {
  double named_s = 0, other_s = 0;
  double share() const { return named_s + other_s > 0 ? named_s / (named_s + other_s) : 0; }
};

template <class Which>
Parts parts_of(const Estimate& e, const Which& which) {
  Parts parts;
  for (const LayerEstimate& layer : e.layers) {
    if (is_work(layer)) (which(layer) ? parts.named_s : parts.other_s) += layer.time_s.value;
  }
  return parts;
}

const Estimate* estimate_of(const Tuned& tuned, const TrainingSetting& setting) {
  for (const TuneCandidate& candidate : tuned.candidates) {
    if (candidate.estimate && same_training(candidate.setting, setting)) return &*candidate.estimate;
  }
  return nullptr;
}

std::string changed_by(double before, double after) {
  return after <= before ? whole_percent(1 - after / before) + " less"
                         : whole_percent(after / before - 1) + " more";
}

// The device waits while its host issues work: what is done to the device saves little then.
void about_waiting(const TuneOutcome& chosen, const Estimate& e, const TuneOptions& o,
                   std::vector<TuneAdvice>& advice) {
  if (e.regime == Regime::kSingle || o.mode != MeasureMode::kEager) return;
  const double waits = 1 - chosen.device_time_s / chosen.time_s.value;
  if (waits < kMuchWaiting) return;
  const double steps = iterations_of(o.samples, chosen.setting.batch, o.epochs);
  const std::string busy = milliseconds(chosen.device_time_s / steps);
  advice.push_back(
      {"let the device not wait for its host: capture steps in a CUDA graph (mode replay), or "
       "make steps larger",
       "it waits for " + whole_percent(waits) + " of a step, and is busy for " + busy + " of " +
           milliseconds(chosen.time_s.value / steps) + "; replayed, a step would take " + busy + " and " +
           joules(chosen.device_energy_j / steps) + " instead of " + joules(chosen.energy_j.value / steps)});
}

// Norms read and write every activation and compute little: fewer bits halve that, and the layout decides
// how well it is read.
void about_batch_norm(const Tuned& tuned, const TrainingSetting& chosen, const Estimate& e,
                      std::vector<TuneAdvice>& advice) {
  if (e.regime == Regime::kSingle || chosen.channels_last) return;
  const Parts now = parts_of(e, has_batch_norm);
  if (now.share() < kMuchOfTime) return;
  const std::string much = "layers with batch norm are " + whole_percent(now.share()) +
                           " of the device's time in " + chosen.recipe.precision;
  TrainingSetting other = chosen;
  other.channels_last = true;
  if (const Estimate* last = estimate_of(tuned, other)) {
    const Parts then = parts_of(*last, has_batch_norm);
    if (then.named_s + then.other_s >= now.named_s + now.other_s) return;
    advice.push_back(
        {"train with channels last", much + "; so they would take " + changed_by(now.named_s, then.named_s) +
                                         ", the others " + changed_by(now.other_s, then.other_s)});
    return;
  }
  other = chosen;
  other.recipe.precision = "default";
  const Estimate* plain = chosen.recipe.precision == "default" ? nullptr : estimate_of(tuned, other);
  if (plain == nullptr) return;
  const Parts before = parts_of(*plain, has_batch_norm);
  const double norms = before.named_s / now.named_s, others = before.other_s / now.other_s;
  if (!std::isfinite(others) || others < kQuicker * norms) return;
  advice.push_back(
      {"try channels last, which changes how such layers read memory; this profile cannot tell "
       "it, ampere.tune() of the Python package can",
       much + ", where they are " + three_digits(norms) + " times as quick as in default, the other layers " +
           three_digits(others) + " times"});
}

// The optimizer's work is that of a step, however many samples it has.
void about_optimizer(const TrainingSetting& chosen, const Estimate& e, std::vector<TuneAdvice>& advice) {
  const double share =
      parts_of(e, [](const LayerEstimate& layer) { return layer.name == "(optimizer)"; }).share();
  if (share < kMuchUpdating) return;
  advice.push_back({"make more samples share an update: larger batches, or gradients of several accumulated",
                    "the optimizer (" + chosen.recipe.optimizer + ") is " + whole_percent(share) +
                        " of the device's time at batch " + std::to_string(chosen.batch) +
                        ", and as much at any batch"});
}

// Limits that nothing reaches, where none was chosen.
void about_limits(const Tuned& tuned, const TrainingSetting& chosen, const Estimate& e,
                  std::vector<TuneAdvice>& advice) {
  if (chosen.power_limit_w > 0 || chosen.clock_mhz > 0) return;
  const TuneOutcome* usual = nullptr;
  for (const TuneOutcome& outcome : tuned.outcomes) {
    if (same_training(outcome.setting, chosen) && outcome.setting.power_limit_w == 0 &&
        outcome.setting.clock_mhz == 0)
      usual = &outcome;
  }
  if (usual == nullptr || !(e.device_time_s > 0)) return;
  double least = 0;
  for (const TuneOutcome& outcome : tuned.outcomes) {
    if (!same_training(outcome.setting, chosen) || outcome.setting.power_limit_w == 0) continue;
    const double limit = outcome.setting.power_limit_w;
    const bool nothing = std::abs(outcome.energy_j.value / usual->energy_j.value - 1) < kNothing &&
                         std::abs(outcome.time_s.value / usual->time_s.value - 1) < kNothing;
    if (nothing && (least == 0 || limit < least)) least = limit;
  }
  if (least == 0) return;
  advice.push_back(
      {"only limits below " + watts(least) + " change anything",
       "the device draws " + watts(e.device_energy_j / e.device_time_s) + " on average while it is busy"});
}

void about_measuring(const Estimate& e, std::vector<TuneAdvice>& advice) {
  if (e.unmeasured < kMuchUnmeasured || !e.gain || e.gain->layers == 0) return;
  const auto width = [](const Interval& i) {
    return "-" + whole_percent(1 - i.low / i.value) + " +" + whole_percent(i.high / i.value - 1);
  };
  advice.push_back({"measure first, to be surer: " + std::to_string(e.gain->layers) + " layers, about " +
                        three_digits(std::max(1.0, e.gain->seconds)) + " s",
                    whole_percent(e.unmeasured) +
                        " of this energy is of layers that nobody measured here; its "
                        "interval would be " +
                        width(e.gain->energy_j) + " instead of " + width(e.energy_j)});
}

}  // namespace

std::vector<TuneAdvice> advice_of(const Tuned& tuned, const TuneOptions& options) {
  std::vector<TuneAdvice> advice;
  const TuneOutcome& best = tuned.outcomes[tuned.best];
  const TrainingSetting& chosen = best.setting;
  const Estimate* e = estimate_of(tuned, chosen);
  if (e == nullptr) return advice;
  about_waiting(best, *e, options, advice);
  about_batch_norm(tuned, chosen, *e, advice);
  about_optimizer(chosen, *e, advice);
  about_limits(tuned, chosen, *e, advice);
  about_measuring(*e, advice);
  return advice;
}

}  // namespace ampere
