#include "recommended.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <set>

#include "tune/corrected.h"
#include "tune/search.h"

namespace ampere::limits {
namespace {

constexpr double kWithin = 0.02;
constexpr int kDraws = 4000;
// Of a row that is measured again: half of what its windows differed by, and never less than this.
constexpr double kLeastError = 0.005;

struct Aim {
  const char* name;
  Objective objective;
  std::optional<double> slower;

  double score(double energy_j, double time_s) const {
    return objective == Objective::kEnergyDelay ? energy_j * time_s : energy_j;
  }
  double score(const MeasuredRow& row) const { return score(row.row.energy_j, row.row.time_s); }
};
const Aim kAims[] = {{"energy, at most 10% slower", Objective::kEnergy, 0.1},
                     {"energy x time", Objective::kEnergyDelay, {}},
                     {"energy", Objective::kEnergy, {}}};

std::string percent(double share) {
  char text[24];
  std::snprintf(text, sizeof text, "%+.1f%%", 100 * share);
  return text;
}

Estimate as_measured(const MeasuredRow& row) {
  Estimate e;
  const double error = std::max(0.01, row.scatter);
  const auto about = [&](double v) { return Interval{v, v * (1 - error), v * (1 + error)}; };
  e.energy_j = about(row.row.energy_j);
  e.time_s = about(row.row.time_s);
  e.device_energy_j = row.row.energy_j;
  e.device_time_s = row.row.time_s;
  e.regime = Regime::kDevice;
  return e;
}

// The measured row of a setting of this model.
const MeasuredRow* row_of(const Measured& m, const std::string& model, const TrainingSetting& setting) {
  for (const MeasuredRow& row : m.rows) {
    const double limit = row.row.setting.limit_w >= m.device.usual_limit_w ? 0 : row.row.setting.limit_w;
    if (row.model == model && row.precision == setting.recipe.precision && limit == setting.power_limit_w &&
        row.row.setting.clock_mhz == setting.clock_mhz)
      return &row;
  }
  return nullptr;
}

struct Search {
  Tuned tuned;
  TuneOptions options;
  int checks = 0;
  double checked_s = 0;
};

// The search of `ampere tune`, among the settings that were measured.
Search searched(const Measured& m, const std::string& model, const LeverModel& levers, const Aim& aim) {
  Search search;
  TuneOptions& o = search.options;
  o.samples = 1;
  o.objective = aim.objective;
  o.most_slower = aim.slower;
  std::vector<TuneCandidate> candidates;
  std::set<double> limits, clocks;
  for (const MeasuredRow& row : m.rows) {
    if (row.model != model) continue;
    if (row.row.setting.clock_mhz > 0) {
      clocks.insert(row.row.setting.clock_mhz);
    } else if (row.row.setting.limit_w < m.device.usual_limit_w) {
      limits.insert(row.row.setting.limit_w);
    } else {
      TrainingSetting setting{1, {}};
      setting.recipe.precision = row.precision;
      const auto at = row.precision == "default" ? candidates.begin() : candidates.end();
      candidates.insert(at, {setting, as_measured(row), {}});
    }
  }
  o.power_limits_w.assign(limits.begin(), limits.end());
  o.clocks_mhz.assign(clocks.begin(), clocks.end());
  search.tuned = search_settings(candidates, o, &levers);
  for (TuneOutcome& outcome : search.tuned.outcomes)
    outcome.measured = outcome.setting.power_limit_w == 0 && outcome.setting.clock_mhz == 0;
  return search;
}

// As --check does: the best one is trained, corrected and chosen anew, until it was trained.
void check(const Measured& m, const std::string& model, int most, Search& search) {
  while (search.checks < most && !search.tuned.outcomes[search.tuned.best].measured) {
    const TrainingSetting setting = search.tuned.outcomes[search.tuned.best].setting;
    const MeasuredRow* row = row_of(m, model, setting);
    if (row == nullptr) return;
    correct(search.tuned, {setting, row->row.energy_j, row->row.time_s, row->scatter / 2, 0});
    choose(search.tuned, search.options);
    ++search.checks;
    search.checked_s += row->spent_s;
  }
}

using Rows = std::vector<const MeasuredRow*>;

// Those that are quick enough as measured; any of them may be the best.
Rows rivals(const Measured& m, const std::string& model, const Aim& aim, const MeasuredRow& present) {
  Rows found;
  for (const MeasuredRow& row : m.rows) {
    if (row.model == model && row.row.time_s <= present.row.time_s * (1 + aim.slower.value_or(1e9)))
      found.push_back(&row);
  }
  return found;
}

// How often this row would be within 2% of the best one, were all of them measured again.
double within_again(const Rows& rows, const MeasuredRow& chosen, const Aim& aim) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int within = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double least = 0, own = 0;
    for (const MeasuredRow* row : rows) {
      const double again =
          aim.score(*row) * std::exp(std::max(kLeastError, row->scatter / 2) * normal(random));
      if (least == 0 || again < least) least = again;
      if (row == &chosen) own = again;
    }
    within += own <= (1 + kWithin) * least;
  }
  return static_cast<double>(within) / kDraws;
}

double usual_rows_s(const Measured& m, const std::string& model) {
  double sum = 0;
  for (const MeasuredRow& row : m.rows) {
    if (row.model == model && &row == usual_of(m, row.row.network)) sum += row.spent_s;
  }
  return sum;
}

double all_rows_s(const Measured& m, const std::string& model) {
  double sum = 0;
  for (const MeasuredRow& row : m.rows) sum += row.model == model ? row.spent_s : 0;
  return sum;
}

}  // namespace

LeverModel taught(const Measured& m, const std::string& but) {
  std::vector<LeverRow> rows;
  for (const MeasuredRow& row : m.rows) {
    if (is_seen(m, row) && (but.empty() || row.model != but)) rows.push_back(row.row);
  }
  return {m.device, rows};
}

void recommend(const Measured& m, int most_checks) {
  std::printf(
      "\n| network | for | recommended | its energy, time | best measured | its energy, time | more | within "
      "2%% again: it, the best |%s\n",
      most_checks > 0 ? " trained | of the search |" : "");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |%s\n", most_checks > 0 ? " --- | --- |" : "");
  int within = 0, all = 0;
  double again = 0, ours_s = 0, search_s = 0;
  for (const std::string& model : models_of(m)) {
    const LeverModel levers = taught(m, model);
    for (const Aim& aim : kAims) {
      Search search = searched(m, model, levers, aim);
      check(m, model, most_checks, search);
      const Tuned& tuned = search.tuned;
      const MeasuredRow* chosen = row_of(m, model, tuned.outcomes[tuned.best].setting);
      const MeasuredRow* present = row_of(m, model, tuned.outcomes[tuned.present].setting);
      if (chosen == nullptr || present == nullptr) continue;  // not all of its settings were measured
      const Rows rows = rivals(m, model, aim, *present);
      const MeasuredRow* best = *std::min_element(
          rows.begin(), rows.end(),
          [&](const MeasuredRow* a, const MeasuredRow* b) { return aim.score(*a) < aim.score(*b); });
      const double more = aim.score(*chosen) / aim.score(*best) - 1;
      const double slower = chosen->row.time_s / present->row.time_s - 1;
      const bool too_slow = aim.slower && slower > *aim.slower;
      within += more <= kWithin && !too_slow;
      ++all;
      const double best_again = within_again(rows, *best, aim);
      again += best_again;
      std::printf("| %s | %s | %s, %s | %.1f J, %.1f ms | %s, %s | %.1f J, %.1f ms | %s | %.0f%%, %.0f%% |",
                  model.c_str(), aim.name, chosen->precision.c_str(), chosen->row.setting.text().c_str(),
                  chosen->row.energy_j, 1e3 * chosen->row.time_s, best->precision.c_str(),
                  best->row.setting.text().c_str(), best->row.energy_j, 1e3 * best->row.time_s,
                  (too_slow ? percent(slower) + " slower" : percent(more)).c_str(),
                  too_slow ? 0.0 : 100 * within_again(rows, *chosen, aim), 100 * best_again);
      const double spent_s = usual_rows_s(m, model) + search.checked_s, each_s = all_rows_s(m, model);
      ours_s += spent_s, search_s += each_s;
      if (most_checks > 0) std::printf(" %d | %.2f |", search.checks, spent_s / each_s);
      std::printf("\n");
    }
  }
  std::printf("\nWithin 2%% of the best measured one: %d of %d", within, all);
  if (most_checks > 0) std::printf(", in %.2f of the time of measuring all of them", ours_s / search_s);
  std::printf(". Were all rows measured again, the best one now would be so in %.1f of %d.\n", again, all);
}

}  // namespace ampere::limits
