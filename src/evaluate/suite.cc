#include "evaluate/suite.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "base/error.h"

namespace ampere {
namespace {

constexpr const char* kMethods[] = {"split-probe", "split-exact",  "split",
                                    "paper",       "paper-replay", "neuralpower",
                                    "flops",       "flops-affine", "flops-bytes"};

std::string percent(double share) {
  std::ostringstream out;
  out.setf(std::ios::fixed);
  out.precision(1);
  out << 100 * share << '%';
  return out.str();
}

std::string seconds(double s) {
  std::ostringstream out;
  out.precision(3);
  out << s << " s";
  return out.str();
}

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string header(const std::vector<std::string>& cells) {
  return row(cells) + row(std::vector<std::string>(cells.size(), "---"));
}

std::vector<std::string> first_cells(const Json& e) {
  const std::string recipe = e.value("recipe", "");
  return {e.value("model", "?"), std::to_string(e.value("batch", 0)),
          recipe.find("autotune") == std::string::npos ? "off" : "on", e.value("mode", "eager")};
}

// Those that any of the evaluations has.
std::vector<std::string> methods_of(const std::vector<Json>& evaluations) {
  std::vector<std::string> names;
  for (const char* name : kMethods) {
    if (std::any_of(evaluations.begin(), evaluations.end(),
                    [&](const Json& e) { return e.at("methods").contains(name); }))
      names.emplace_back(name);
  }
  return names;
}

void add_errors(std::ostringstream& out, const std::vector<Json>& evaluations) {
  const std::vector<std::string> names = methods_of(evaluations);
  std::vector<std::string> cells = {"network", "batch", "autotune", "trained", "networks", "noise floor"};
  for (const std::string& name : names) cells.push_back("`" + name + "`");
  out << "Mean absolute error of the energy (share of networks inside the 95% interval):\n\n"
      << header(cells);
  for (const Json& e : evaluations) {
    cells = first_cells(e);
    cells.push_back(std::to_string(e.value("samples", 0)));
    cells.push_back(percent(e.value("noise_floor", 0.0)));
    for (const std::string& name : names) {
      if (!e.at("methods").contains(name)) {
        cells.emplace_back("");
        continue;
      }
      const Json& m = e.at("methods").at(name);
      std::string cell = percent(m.value("mape", 0.0));
      if (m.contains("coverage") && m["coverage"].is_number())
        cell += " (" + std::to_string(std::lround(100 * m["coverage"].get<double>())) + "%)";
      cells.push_back(cell);
    }
    out << row(cells);
  }
}

// Where the host wavers, how far off the method was itself.
void add_errors_at_true_time(std::ostringstream& out, const std::vector<Json>& evaluations) {
  std::vector<std::string> names;
  for (const char* name : {"split-probe", "split-exact", "split"}) {
    for (const Json& e : evaluations) {
      if (e.at("methods").contains(name) && e["methods"][name].contains("mape_at_true_time")) {
        names.emplace_back(name);
        break;
      }
    }
  }
  if (names.empty()) return;
  out << "\nThe same had the time of an iteration been known, which an eager iteration owes to the host:\n\n";
  std::vector<std::string> cells = {"network", "batch", "autotune", "trained"};
  for (const std::string& name : names) cells.push_back("`" + name + "`");
  for (const std::string& name : names) cells.push_back("time by `" + name + "`");
  out << header(cells);
  for (const Json& e : evaluations) {
    cells = first_cells(e);
    bool any = false;
    std::vector<std::string> times;
    for (const std::string& name : names) {
      const bool there = e.at("methods").contains(name) && e["methods"][name].contains("mape_at_true_time");
      any = any || there;
      cells.push_back(there ? percent(e["methods"][name]["mape_at_true_time"].get<double>()) : "");
      times.push_back(there ? percent(e["methods"][name].value("time_mape", 0.0)) : "");
    }
    cells.insert(cells.end(), times.begin(), times.end());
    if (any) out << row(cells);
  }
}

void add_distribution(std::ostringstream& out, const std::vector<Json>& evaluations) {
  const std::vector<double> limits = {0.01, 0.02, 0.03, 0.05, 0.10, 0.20, 0.40};
  out << "\nShare of networks whose error is at most:\n\n";
  std::vector<std::string> cells = {"network", "batch", "autotune", "trained", "method"};
  for (double limit : limits) cells.push_back(percent(limit));
  out << header(cells);
  for (const Json& e : evaluations) {
    for (const char* name : {"split-probe", "split", "paper", "paper-replay", "flops"}) {
      if (!e.at("methods").contains(name)) continue;
      cells = first_cells(e);
      cells.push_back(std::string("`") + name + "`");
      for (double limit : limits) {
        int within = 0, all = 0;
        for (const Json& n : e.at("networks")) {
          const double estimated = n.at("estimates").at(name).at("energy_j").get<double>();
          if (std::abs(estimated / n.at("energy_j").get<double>() - 1) <= limit) ++within;
          ++all;
        }
        cells.push_back(percent(all > 0 ? static_cast<double>(within) / all : 0));
      }
      out << row(cells);
    }
  }
}

void add_profiling(std::ostringstream& out, const std::vector<Json>& evaluations) {
  out << "\nProfiling (kinds that an earlier row has measured are not measured again):\n\n"
      << header(
             {"network", "batch", "autotune", "method", "all in all", "of which fitting", "points", "known"});
  std::set<std::vector<std::string>> told;
  for (const Json& e : evaluations) {
    if (!e.contains("profiling")) continue;
    for (const auto& [method, p] : e["profiling"].items()) {
      std::vector<std::string> cells = first_cells(e);
      cells.back() = "`" + method + "`";
      // Which mode networks were trained in makes no difference to the profile.
      if (!told.insert(cells).second) continue;
      cells.push_back(seconds(p.value("time_s", 0.0)));
      cells.push_back(seconds(p.value("fitting_time_s", 0.0)));
      cells.push_back(std::to_string(p.value("points_measured", 0)));
      cells.push_back(std::to_string(p.value("points_reused", 0)));
      out << row(cells);
    }
  }
}

}  // namespace

std::vector<SuiteEntry> suite_entries(const std::string& name) {
  if (name != "paper") throw bad_input("no suite is called \"" + name + "\" (known: paper)");
  return {{"lenet5", 10, 30},         {"cnn5", 10, 30},
          {"cnn5", 256, 30},          {"har", 10, 30},
          {"lstm", 10, 30},           {"transformer", 10, 30},
          {"resnet18-cifar", 32, 10}, {"resnet34-cifar", 32, 10},
          {"resnet50-cifar", 32, 10}, {"resnet18", 16, 10},
          {"resnet50", 16, 10}};
}

std::string SuiteRun::name() const {
  return entry.model + "-b" + std::to_string(entry.batch) + (autotune ? "-autotune" : "") +
         (mode == MeasureMode::kReplay ? "-replay" : "");
}

std::vector<SuiteRun> suite_runs(const std::vector<SuiteEntry>& entries, bool accelerator) {
  std::vector<SuiteRun> runs;
  for (const SuiteEntry& entry : entries) {
    for (const bool autotune : {false, true}) {
      for (const MeasureMode mode : {MeasureMode::kEager, MeasureMode::kReplay}) {
        if (!accelerator && (autotune || mode == MeasureMode::kReplay)) continue;
        runs.push_back({entry, autotune, mode});
      }
    }
  }
  return runs;
}

std::string suite_report(const std::vector<Json>& evaluations) {
  std::ostringstream out;
  add_errors(out, evaluations);
  add_errors_at_true_time(out, evaluations);
  add_distribution(out, evaluations);
  add_profiling(out, evaluations);
  std::vector<std::string> machines;
  for (const Json& e : evaluations) {
    const Json& d = e.at("device");
    std::string machine = d.value("name", "?") + ", " + d.value("framework", "?") +
                          (d.value("driver", "").empty() ? "" : ", driver " + d.value("driver", "")) +
                          ", meter " + e.value("meter", "?") +
                          (e.value("modelled", false) ? " (modelled energy)" : "") + ", " +
                          e.value("date", "").substr(0, 10);
    if (std::find(machines.begin(), machines.end(), machine) == machines.end())
      machines.push_back(std::move(machine));
  }
  out << "\n";
  for (const std::string& machine : machines) out << machine << "\n";
  return out.str();
}

}  // namespace ampere
