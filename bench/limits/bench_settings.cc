// The settings that `ampere tune` would recommend, against all settings that were measured one by one: how
// right they are told from at most three limits, how good the recommended one is, and how long finding it
// took beside trying all of them, and beside an optimizer that tries every limit in turn.
//
//   bench_settings SETTINGS.jsonl [LIMITS_SEEN [CLOCK_SEEN]]
//
// Rows of bench/limits/measure.py; 700,400,200, and no clock: "1980", or "highest".
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "measured_rows.h"
#include "recommended.h"

namespace {

using namespace ampere;
using namespace ampere::limits;

// What an optimizer does that tries limits while a network trains (Zeus's GlobalPowerLimitOptimizer as it
// comes): from the most to the least in steps of 25 W, ten steps each to warm up and forty that are measured.
constexpr double kTurnStep = 25, kTurnSteps = 50;

struct Errors {
  double energy = 0, time = 0, worst_energy = 0, worst_time = 0;
  int count = 0, energy_inside = 0, time_inside = 0;

  void add(const Stretch& s, const MeasuredRow& usual, const MeasuredRow& truth) {
    const double e = usual.row.energy_j * s.energy / truth.row.energy_j - 1;
    const double t = usual.row.time_s * s.time / truth.row.time_s - 1;
    energy += std::abs(e);
    time += std::abs(t);
    worst_energy = std::max(worst_energy, std::abs(e));
    worst_time = std::max(worst_time, std::abs(t));
    energy_inside += std::abs(std::log1p(e)) <= 1.96 * s.energy_deviation;
    time_inside += std::abs(std::log1p(t)) <= 1.96 * s.time_deviation;
    ++count;
  }
  void print(const std::string& what) const {
    if (count == 0) return;
    std::printf("| %s | %d | %.1f%% (%.1f%%) | %.1f%% (%.1f%%) | %.0f%%, %.0f%% |\n", what.c_str(), count,
                100 * energy / count, 100 * worst_energy, 100 * time / count, 100 * worst_time,
                100.0 * energy_inside / count, 100.0 * time_inside / count);
  }
};

void judge(const Measured& m, bool own_limits) {
  std::map<std::string, Errors> errors;
  std::map<std::string, LeverModel> models;
  for (const MeasuredRow& row : m.rows) {
    const MeasuredRow* usual = usual_of(m, row.row.network);
    if (usual == nullptr || usual == &row || (own_limits && is_seen(m, row))) continue;
    if (row.row.setting.limit_w >= m.device.usual_limit_w) continue;
    const std::string but = own_limits ? "" : row.model;
    auto found = models.find(but);
    if (found == models.end()) found = models.emplace(but, taught(m, but)).first;
    const Stretch s = found->second.under(row.row.setting, usual->row.energy_j / usual->row.time_s,
                                          own_limits ? row.row.network : "");
    const std::string kind = row.row.setting.clock_mhz > 0 ? "clocks" : "limits";
    for (const std::string& group : {std::string("all"), kind, row.precision})
      errors[group].add(s, *usual, row);
  }
  for (const auto& [group, of] : errors)
    of.print((own_limits ? "these of every network; "
                         : "this network at the usual limit alone, these of "
                           "the others; ") +
             group);
}

// Seconds of a search that tries every limit in turn, from the steps' times under the limits that were
// measured; between them by a straight line.
double in_turn_s(const Measured& m, const std::string& network) {
  std::map<double, double> time_s;
  for (const MeasuredRow& row : m.rows) {
    if (row.row.network == network && row.row.setting.clock_mhz == 0)
      time_s[row.row.setting.limit_w] = row.row.time_s;
  }
  if (time_s.size() < 2) return 0;
  double sum = 0;
  for (double limit = m.most_limit_w; limit >= m.device.least_limit_w; limit -= kTurnStep) {
    const auto above = time_s.lower_bound(limit);
    double step_s = above == time_s.end() ? time_s.rbegin()->second : above->second;
    if (above != time_s.end() && above != time_s.begin()) {
      const auto below = std::prev(above);
      const double share = (limit - below->first) / (above->first - below->first);
      step_s = below->second + share * (above->second - below->second);
    }
    sum += kTurnSteps * step_s;
  }
  return sum;
}

void tell_times(const Measured& m) {
  std::printf(
      "\n| network | its precisions at the usual limit | all settings one by one | share | every limit in "
      "turn, "
      "25 W apart |\n| --- | --- | --- | --- | --- |\n");
  double ours = 0, all = 0, turns = 0;
  for (const std::string& model : models_of(m)) {
    double one = 0, each = 0, turn = 0;
    std::set<std::string> networks;
    for (const MeasuredRow& row : m.rows) {
      if (row.model != model) continue;
      each += row.spent_s;
      if (&row == usual_of(m, row.row.network)) one += row.spent_s;
      networks.insert(row.row.network);
    }
    for (const std::string& network : networks) {
      const auto timed = m.in_turn_s.find(network);
      turn += timed != m.in_turn_s.end() ? timed->second : in_turn_s(m, network);
    }
    std::printf("| %s | %.1f s | %.1f s | %.2f | %.1f s |\n", model.c_str(), one, each, one / each, turn);
    ours += one, all += each, turns += turn;
  }
  std::printf("| all | %.1f s | %.1f s | %.2f | %.1f s |\n", ours, all, ours / all, turns);
  std::printf(
      "\nThe last column is %s; such an optimizer trains meanwhile, and it tells limits alone.%s\n",
      m.in_turn_s.empty() ? "made up of the measured times of steps" : "timed where that was asked for",
      m.assumed_spent ? " Rows without their own time count as 4 s." : "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: bench_settings SETTINGS.jsonl [LIMITS_SEEN [CLOCK_SEEN]]\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    if (!file) throw bad_input(std::string(argv[1]) + " cannot be read");
    const Measured m = read_measured({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()},
                                     argv[1], argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
    std::printf("%s, %zu rows of %zu networks", m.device.name.c_str(), m.rows.size(), models_of(m).size());
    std::printf("; limits seen:");
    for (const int limit : m.seen) std::printf(" %d W", limit);
    if (m.seen_clock > 0) std::printf("; clock seen: %g MHz", m.seen_clock);
    std::printf(
        "\n\n| known | asked | energy (worst) | time (worst) | in 95%% intervals of energy, time |\n");
    std::printf("| --- | --- | --- | --- | --- |\n");
    judge(m, true);
    judge(m, false);
    recommend(m, 0);
    std::printf("\nWith --check, the best one trained and chosen again until it was, twice at most:\n");
    recommend(m, 2);
    tell_times(m);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_settings: %s\n", e.what());
    return exit_code(e.kind());
  }
  return 0;
}
