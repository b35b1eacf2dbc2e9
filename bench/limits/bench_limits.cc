// How right the model of power limits and clocks is, on rows that were measured: fitted to some, asked for
// the others.
//
//   bench_limits results/h200/limits.jsonl
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "tune/lever_model.h"

namespace {

using namespace ampere;

const LeverDevice kDevice{"NVIDIA H200", 1980, 700, 200};

using Rows = std::vector<LeverRow>;
using Which = std::function<bool(const LeverRow&)>;

Rows those(const Rows& rows, const Which& which) {
  Rows kept;
  for (const LeverRow& row : rows) {
    if (which(row)) kept.push_back(row);
  }
  return kept;
}

bool at_limit(const LeverRow& row, const std::set<int>& limits) {
  return row.setting.clock_mhz == 0 && limits.count(static_cast<int>(row.setting.limit_w)) != 0;
}

struct Errors {
  double energy = 0, time = 0, worst_energy = 0, worst_time = 0;
  int count = 0, energy_inside = 0, time_inside = 0;

  void add(const Stretch& s, const LeverRow& usual, const LeverRow& truth) {
    const double e = std::log(usual.energy_j * s.energy / truth.energy_j);
    const double t = std::log(usual.time_s * s.time / truth.time_s);
    energy += std::abs(std::expm1(e));
    time += std::abs(std::expm1(t));
    worst_energy = std::max(worst_energy, std::abs(std::expm1(e)));
    worst_time = std::max(worst_time, std::abs(std::expm1(t)));
    energy_inside += std::abs(e) <= kZ95 * s.energy_deviation;
    time_inside += std::abs(t) <= kZ95 * s.time_deviation;
    ++count;
  }
  void print(const char* what) const {
    std::printf("| %s | %d | %.1f%% (%.1f%%) | %.1f%% (%.1f%%) | %.0f%%, %.0f%% |\n", what, count,
                100 * energy / count, 100 * worst_energy, 100 * time / count, 100 * worst_time,
                100.0 * energy_inside / count, 100.0 * time_inside / count);
  }
};

std::set<std::string> networks_of(const Rows& rows) {
  std::set<std::string> names;
  for (const LeverRow& row : rows) names.insert(row.network);
  return names;
}

std::string model_of(const std::string& network) { return network.substr(0, network.find(' ')); }

// As it was measured at the usual limit: what a profile of the device tells of the network.
const LeverRow& usual_of(const Rows& rows, const std::string& network) {
  for (const LeverRow& row : rows) {
    if (row.network == network && at_limit(row, {700})) return row;
  }
  throw bad_input(network + " was not measured at 700 W");
}

// Fits to what `seen` says of each network in turn (the second: the one that is asked for), and asks for
// `asked`.
void judge(const Rows& rows, const char* what,
           const std::function<bool(const LeverRow&, const std::string&)>& seen, const Which& asked) {
  Errors errors;
  for (const std::string& network : networks_of(rows)) {
    const LeverModel model(kDevice, those(rows, [&](const LeverRow& row) { return seen(row, network); }));
    const LeverRow& usual = usual_of(rows, network);
    for (const LeverRow& row : rows) {
      if (row.network != network || !asked(row) || (seen(row, network))) continue;
      errors.add(model.under(row.setting, usual.energy_j / usual.time_s, network), usual, row);
    }
  }
  errors.print(what);
}

struct Aim {
  const char* name;
  std::function<double(double energy_j, double time_s)> score;
  double most_slower;
};

// The limit that the model recommends to a network of which it knows 700 W alone, and the best one of those
// that were measured.
void recommend(const Rows& rows) {
  const double any = 1e9;
  const std::vector<Aim> aims = {{"energy", [](double e, double) { return e; }, any},
                                 {"energy, at most 10% slower", [](double e, double) { return e; }, 0.1},
                                 {"energy x time", [](double e, double t) { return e * t; }, any}};
  std::printf(
      "\n| network | for | recommended | its energy, time | best measured | its energy, time | more |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& network : networks_of(rows)) {
    const LeverModel model(kDevice, those(rows, [&](const LeverRow& row) { return row.network != network; }));
    const LeverRow& usual = usual_of(rows, network);
    for (const Aim& aim : aims) {
      const LeverRow *chosen = nullptr, *best = nullptr;
      double chosen_score = 0, best_score = 0;
      for (const LeverRow& row : rows) {
        if (row.network != network || row.setting.clock_mhz > 0) continue;
        const Stretch s =
            row.setting.limit_w < 700 ? model.under(row.setting, usual.energy_j / usual.time_s) : Stretch{};
        const double told = aim.score(usual.energy_j * s.energy, usual.time_s * s.time);
        if (s.time <= 1 + aim.most_slower && (chosen == nullptr || told < chosen_score))
          chosen = &row, chosen_score = told;
        const double truth = aim.score(row.energy_j, row.time_s);
        if (row.time_s <= usual.time_s * (1 + aim.most_slower) && (best == nullptr || truth < best_score))
          best = &row, best_score = truth;
      }
      std::printf("| %s | %s | %.0f W | %.1f J, %.1f ms | %.0f W | %.1f J, %.1f ms | %+.1f%% |\n",
                  network.c_str(), aim.name, chosen->setting.limit_w, chosen->energy_j, 1e3 * chosen->time_s,
                  best->setting.limit_w, best->energy_j, 1e3 * best->time_s,
                  100 * (aim.score(chosen->energy_j, chosen->time_s) / best_score - 1));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_limits LIMITS.jsonl\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    const Rows rows =
        read_lever_rows({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, argv[1]);
    const Which limits = [](const LeverRow& row) {
      return row.setting.limit_w > 0 && row.setting.limit_w < 700;
    };
    const Which clocks = [](const LeverRow& row) { return row.setting.clock_mhz > 0; };
    const auto three = [](const LeverRow& row, const std::string&) { return at_limit(row, {700, 400, 200}); };
    const auto two = [](const LeverRow& row, const std::string&) { return at_limit(row, {700, 300}); };
    const auto never = [](const LeverRow& row, const std::string& network) { return row.network != network; };
    const auto no_such = [](const LeverRow& row, const std::string& network) {
      return model_of(row.network) != model_of(network);
    };
    std::printf("| known | asked | energy (worst) | time (worst) | in 95%% intervals of energy, time |\n");
    std::printf("| --- | --- | --- | --- | --- |\n");
    judge(rows, "700, 400 and 200 W of all networks; other limits", three, limits);
    judge(rows, "700, 400 and 200 W of all networks; clocks", three, clocks);
    judge(rows, "700 and 300 W of all networks; other limits", two, limits);
    judge(rows, "this network at 700 W alone, all of the others; limits", never, limits);
    judge(rows, "this network at 700 W alone, all of the others; clocks", never, clocks);
    judge(rows, "the same without its other precision; limits", no_such, limits);
    judge(rows, "the same without its other precision; clocks", no_such, clocks);
    const LeverModel all(kDevice, rows);
    std::printf(
        "\nFitted to all rows: %.0f W are drawn anyway, means exceed limits by %.1f%%, the clock begins to "
        "decide below %.0f MHz; rows deviate by %.1f%%.\n",
        all.static_w(), 100 * (all.overshoot() - 1), all.knee() * kDevice.most_clock_mhz, 100 * all.misfit());
    recommend(rows);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_limits: %s\n", e.what());
    return exit_code(e.kind());
  }
  return 0;
}
