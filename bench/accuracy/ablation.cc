// What each idea of the regression is worth, on points that were measured on a real device: surfaces are
// fitted to the points that profiling chose, and judged at channels of random networks that were measured
// too.
//
//   ablation POINTS.csv MODEL BATCH         (tools/export_points makes the file; docs/accuracy.md has the
//   output)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/power_model.h"
#include "model/shared_power.h"
#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "network/zoo.h"

namespace ampere {
namespace {

struct Point {
  std::string run, recipe, point, key;
  Channels channels;
  double time_s = 0;
  double energy_j = 0;  // 0: not measured
  Kernels kernels;      // empty: nobody can tell
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<Point> read_points(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw bad_input(path + ": cannot be read");
  std::vector<Point> points;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> f;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) f.push_back(cell);
    if (f.size() < 7) throw bad_input(path + ": a line has too few columns: " + line);
    points.push_back({f[0],
                      f[1],
                      f[2],
                      f[3],
                      {std::atoll(f[4].c_str()), std::atoll(f[5].c_str())},
                      std::atof(f[6].c_str()),
                      f.size() > 7 ? std::atof(f[7].c_str()) : 0,
                      f.size() > 9 ? words(f[9]) : Kernels{}});
  }
  return points;
}

// Points of one kind in one run under one recipe.
struct Kind {
  SurfacePlan plan;
  std::vector<Point> fitted;  // by profiling, in the order they were chosen
  std::vector<Point> judged;  // at channels of random networks, none of them among the fitted
};

std::vector<Kind> kinds_of(const std::vector<Point>& points, const std::vector<SurfacePlan>& plans,
                           const std::string& recipe) {
  std::map<std::pair<std::string, std::string>, Kind> by_run;
  for (const SurfacePlan& plan : plans) {
    if (plan.kind.surface != Surface::kInOut) continue;  // two channel numbers: where regression is hard
    for (const Point& p : points) {
      if (p.key != plan.key || p.recipe != recipe) continue;
      Kind& kind = by_run[{p.run, p.key}];
      kind.plan = plan;
      (p.point == "surface" ? kind.fitted : kind.judged).push_back(p);
    }
  }
  std::vector<Kind> kinds;
  for (auto& [key, kind] : by_run) {
    std::set<Channels> known;
    for (const Point& p : kind.fitted) known.insert(p.channels);
    auto seen = [&](const Point& p) { return known.count(p.channels) > 0; };
    kind.judged.erase(std::remove_if(kind.judged.begin(), kind.judged.end(), seen), kind.judged.end());
    if (!kind.fitted.empty() && !kind.judged.empty()) kinds.push_back(kind);
  }
  return kinds;
}

struct Score {
  double absolute = 0, squared_z = 0;
  int count = 0;
  void add(double predicted, double truth, double relative_deviation) {
    const double off = std::log(predicted / truth);
    absolute += std::abs(std::exp(off) - 1);
    squared_z += off * off / std::max(relative_deviation * relative_deviation, 1e-8);
    ++count;
  }
  void print(const std::string& what) const {
    if (count == 0) return;
    std::printf("| %s | %.1f%% | %.2f | %d |\n", what.c_str(), 100 * absolute / count,
                std::sqrt(squared_z / count), count);
  }
};

Score score_times(const std::vector<Kind>& kinds, const SurfaceOptions& options, std::size_t most_points) {
  Score score;
  for (const Kind& kind : kinds) {
    std::map<Channels, Observation> observations;
    for (const Point& p : kind.fitted) {
      if (observations.size() >= most_points) break;
      observations[p.channels] = {p.channels, p.time_s, 0.002, 0.005};
    }
    std::vector<Observation> list;
    for (const auto& [place, o] : observations) list.push_back(o);
    if (list.empty()) continue;
    const SurfaceModel model(list, kind.plan.kind.surface,
                             CostPolynomial(kind.plan.kind, hands_gradient_down(kind.plan.role)), options);
    for (const Point& p : kind.judged) {
      const SurfacePrediction at = model.at({p.channels});
      if (at.mean(0) > 0) score.add(at.mean(0), p.time_s, std::sqrt(at.covariance(0, 0)) / at.mean(0));
    }
  }
  return score;
}

constexpr double kIdleW = 125;  // of the H200 that the points come from (results/h200/detect.txt)

enum class Power { kRatesAndTime, kChannels, kConstant };

// Judged at the measured time, so that only the power is judged.
Score score_power(const std::vector<Kind>& kinds, Power how) {
  Score score;
  for (const Kind& kind : kinds) {
    const CostPolynomial cost(kind.plan.kind, hands_gradient_down(kind.plan.role));
    std::map<Channels, PowerObservation> seen;
    for (const Point& p : kind.fitted) {
      if (p.energy_j > 0) seen[p.channels] = {p.channels, p.energy_j, p.time_s, 0.01, p.kernels};
    }
    if (seen.size() < 6) continue;
    std::vector<PowerObservation> powers;
    std::vector<Observation> watts;
    double mean_log = 0;
    for (const auto& [place, o] : seen) {
      powers.push_back(o);
      watts.push_back({place, o.energy_j / o.time_s, 0.01, 0.01});
      mean_log += std::log(o.energy_j / o.time_s) / static_cast<double>(seen.size());
    }
    const PowerModel by_rates(powers, cost);
    SurfaceOptions plain = default_surface_options();
    plain.physical_mean = false;
    const SurfaceModel by_channels(watts, kind.plan.kind.surface, cost, plain);
    for (const Point& p : kind.judged) {
      if (!(p.energy_j > 0)) continue;
      SurfacePrediction energy;
      if (how == Power::kRatesAndTime) {
        energy = by_rates.energy({p.channels},
                                 {Eigen::VectorXd::Constant(1, p.time_s), Eigen::MatrixXd::Zero(1, 1)});
      } else if (how == Power::kChannels) {
        energy = by_channels.at({p.channels});
        energy.mean *= p.time_s;
        energy.covariance *= p.time_s * p.time_s;
      } else {
        energy.mean = Eigen::VectorXd::Constant(1, std::exp(mean_log) * p.time_s);
        energy.covariance = Eigen::MatrixXd::Constant(1, 1, std::pow(0.2 * energy.mean(0), 2));
      }
      score.add(energy.mean(0), p.energy_j, std::sqrt(energy.covariance(0, 0)) / energy.mean(0));
    }
  }
  return score;
}

constexpr int kFolds = 5;

enum class Others { kNone, kByRates, kByRatesAndChannels, kAndKernels };

// Of all kinds, a fifth of the places is held back at a time; what the energies of the rest say is judged at
// the measured time.
Score score_held_back(const std::vector<Point>& points, const std::vector<SurfacePlan>& plans,
                      const std::string& recipe, Others others) {
  Score score;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::map<std::string, PowerOfKind> kinds;
    std::map<std::string, std::vector<PowerObservation>> held_back;
    for (const SurfacePlan& plan : plans) {
      PowerOfKind kind{CostPolynomial(plan.kind, hands_gradient_down(plan.role)), {}};
      std::map<Channels, int> place;  // one that was measured in several runs is held back in all
      for (const Point& p : points) {
        if (p.key != plan.key || p.recipe != recipe || p.point != "surface" || !(p.energy_j > 0)) continue;
        const int i = place.emplace(p.channels, static_cast<int>(place.size())).first->second;
        auto& to = i % kFolds == fold ? held_back[plan.key] : kind.observations;
        to.push_back({p.channels, p.energy_j, p.time_s, 0.01, p.kernels});
      }
      if (kind.observations.size() >= 4) kinds.emplace(plan.key, std::move(kind));
    }
    PowerModel::Others shared;
    if (others == Others::kAndKernels) {
      shared.by_rates = SharedPower::fit(kinds, kIdleW);
      shared.by_kernels = SharedPower::fit(kinds, kIdleW, PowerInputs::kKernels);
      if (!shared.by_kernels) return {};
    } else if (others != Others::kNone) {
      shared.by_rates = SharedPower::fit(
          kinds, kIdleW, others == Others::kByRates ? PowerInputs::kRates : PowerInputs::kChannels);
      if (!shared.by_rates) return {};
    }
    for (const auto& [key, kind] : kinds) {
      shared.kind = key;
      PowerModel model(kind.observations, kind.cost, shared);
      for (const PowerObservation& o : held_back[key]) model.know(o.channels, o.kernels);
      for (const PowerObservation& o : held_back[key]) {
        const SurfacePrediction energy =
            model.energy({o.channels}, {Eigen::VectorXd::Constant(1, o.time_s), Eigen::MatrixXd::Zero(1, 1)});
        score.add(energy.mean(0), o.energy_j, std::sqrt(energy.covariance(0, 0)) / energy.mean(0));
      }
    }
  }
  return score;
}

constexpr std::size_t kAll = 100000;

// Every other random place goes to the points that are fitted, or replaces them.
std::vector<Kind> with_random_places(std::vector<Kind> kinds, bool keep_chosen, bool fit_random) {
  for (Kind& kind : kinds) {
    std::vector<Point> judged;
    std::vector<Point> given;
    for (std::size_t i = 0; i < kind.judged.size(); ++i)
      (i % 2 == 0 ? judged : given).push_back(kind.judged[i]);
    if (!keep_chosen) kind.fitted.clear();
    if (fit_random) kind.fitted.insert(kind.fitted.end(), given.begin(), given.end());
    kind.judged = judged;
  }
  return kinds;
}

void print_times(const std::vector<Kind>& kinds) {
  const SurfaceOptions usual = default_surface_options();
  score_times(kinds, usual, kAll).print("as it is: Matérn 1/2, logarithms, physical mean");
  for (const auto& [name, kernel] : {std::pair{"Matérn 3/2", KernelType::kMatern32},
                                     std::pair{"Matérn 5/2 (the paper's)", KernelType::kMatern52},
                                     std::pair{"squared exponential", KernelType::kSquaredExponential}}) {
    SurfaceOptions o = usual;
    o.gp.kernel = kernel;
    score_times(kinds, o, kAll).print(std::string("kernel: ") + name);
  }
  SurfaceOptions o = usual;
  o.physical_mean = false;
  score_times(kinds, o, kAll).print("constant mean");
  o = usual;
  o.gp.length_prior.reset();
  score_times(kinds, o, kAll).print("no belief about length-scales");
  score_times(kinds, paper_surface_options(), kAll).print("raw values over raw channels (the paper's)");
  for (std::size_t n : {8, 12, 25, 40}) {
    score_times(kinds, usual, n).print("the first " + std::to_string(n) + " points only");
  }
}

// Where points lie matters more than how they are joined.
void print_places(const std::vector<Kind>& kinds) {
  const SurfaceOptions usual = default_surface_options();
  score_times(with_random_places(kinds, true, false), usual, kAll).print("places that profiling chose");
  score_times(with_random_places(kinds, false, true), usual, kAll).print("random places, fewer");
  score_times(with_random_places(kinds, true, true), usual, kAll).print("both");
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Where profiling went, and where networks are.
void print_medians(const std::vector<Kind>& kinds) {
  for (const Kind& kind : kinds) {
    std::vector<double> in[2], out[2];
    for (int i : {0, 1}) {
      for (const Point& p : i == 0 ? kind.fitted : kind.judged) {
        in[i].push_back(static_cast<double>(p.channels.in));
        out[i].push_back(static_cast<double>(p.channels.out));
      }
    }
    std::printf("- %s, run %s: median channels of profiling %.0f>%.0f, of networks %.0f>%.0f\n",
                kind.plan.kind.word().c_str(), kind.fitted.front().run.c_str(), median_of(in[0]),
                median_of(out[0]), median_of(in[1]), median_of(out[1]));
  }
  std::printf("\n");
}

// Do kinds that begin with the same op differ from place to place, or by the same factor everywhere?
void print_alike(const std::vector<Kind>& kinds) {
  bool titled = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (std::size_t j = i + 1; j < kinds.size(); ++j) {
      const LayerKind &one = kinds[i].plan.kind, &other = kinds[j].plan.kind;
      if (one.first_op_word() != other.first_op_word() ||
          kinds[i].fitted.front().run != kinds[j].fitted.front().run)
        continue;
      std::map<Channels, double> times;
      for (const Point& p : kinds[i].fitted) times[p.channels] = p.time_s;
      double sum = 0, squares = 0, n = 0;
      for (const Point& p : kinds[j].fitted) {
        const auto same = times.find(p.channels);
        if (same == times.end()) continue;
        const double ratio = std::log(p.time_s / same->second);
        sum += ratio;
        squares += ratio * ratio;
        ++n;
      }
      if (n < 5) continue;
      if (!titled)
        std::printf(
            "\n| two kinds that begin alike | time of the second over the first | spread | places |\n"
            "| --- | --- | --- | --- |\n");
      titled = true;
      std::printf("| %s, %s | %+.1f%% | %.1f%% | %.0f |\n", one.word().c_str(), other.word().c_str(),
                  100 * std::expm1(sum / n), 100 * std::sqrt(squares / n - sum * sum / n / n), n);
    }
  }
}

void run(const std::string& path, const std::string& model, std::int64_t batch) {
  const std::vector<Point> points = read_points(path);
  const std::vector<SurfacePlan> plans = split_plans(parse_layers(build(parse_zoo(model)), batch));
  std::set<std::string> recipes;
  for (const Point& p : points) recipes.insert(p.recipe);
  for (const std::string& recipe : recipes) {
    const Score alone = score_held_back(points, plans, recipe, Others::kNone);
    const Score by_rates = score_held_back(points, plans, recipe, Others::kByRates);
    const Score with_others = score_held_back(points, plans, recipe, Others::kByRatesAndChannels);
    if (with_others.count > 0) {
      std::printf(
          "\n%s at batch %lld, recipe %s\n\n| energies held back, their times known | error | z | places |\n"
          "| --- | --- | --- | --- |\n",
          model.c_str(), static_cast<long long>(batch), recipe.c_str());
      alone.print("each kind by itself");
      by_rates.print("and what all kinds have shown, by rates");
      with_others.print("as it is: and what all kinds have shown, by rates and channels");
    }
    score_held_back(points, plans, recipe, Others::kAndKernels)
        .print("as it is where the kernels are known: and by the kernels that ran");
    const std::vector<Kind> kinds = kinds_of(points, plans, recipe);
    if (kinds.empty()) continue;
    std::printf("\n%s at batch %lld, recipe %s: %zu surfaces over two channel numbers\n\n", model.c_str(),
                static_cast<long long>(batch), recipe.c_str(), kinds.size());
    print_medians(kinds);
    std::printf("| time of a layer | error | z | places |\n| --- | --- | --- | --- |\n");
    print_times(kinds);
    std::printf("\n| time, half of the places | error | z | places |\n| --- | --- | --- | --- |\n");
    print_places(kinds);
    print_alike(kinds);
    if (score_power(kinds, Power::kConstant).count == 0) continue;
    std::printf("\n| energy of a layer, its time known | error | z | places |\n| --- | --- | --- | --- |\n");
    score_power(kinds, Power::kRatesAndTime)
        .print("each kind by itself: power over FLOP rate, byte rate and time");
    score_power(kinds, Power::kChannels).print("power over channels");
    score_power(kinds, Power::kConstant).print("one power for all");
  }
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ablation POINTS.csv MODEL BATCH\n");
    return 2;
  }
  try {
    ampere::run(argv[1], argv[2], std::atoll(argv[3]));
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "ablation: %s\n", e.what());
    return 1;
  }
}
