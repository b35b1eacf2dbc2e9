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
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/layer_work.h"
#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "model/work_model.h"
#include "network/zoo.h"
#include "points.h"

namespace ampere {
namespace {

using Point = ExportedPoint;

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

constexpr int kFolds = 5;

enum class Power { kOneForAll, kOfEachKind, kOfAllKinds };

MeasuredWork metered(const SurfacePlan& plan, const Point& p, const std::string& recipe) {
  const CallStyle style = call_style_of({{"type", "cuda"}, {"framework", "libtorch 2"}});
  MeasuredWork m;
  m.place = plan.key + " " + std::to_string(p.channels.in) + ">" + std::to_string(p.channels.out);
  m.works = work_of_layer(plan.kind, p.channels, plan.role, recipe, style);
  m.time_s = p.time_s;
  m.energy_j = p.energy_j;
  return m;
}

// Of all kinds, a fifth of the places is held back at a time; what the energies of the rest say is judged at
// the measured time, so that only the power is judged.
Score score_held_back(const std::vector<Point>& points, const std::vector<SurfacePlan>& plans,
                      const std::string& recipe, Power how) {
  Score score;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::map<std::string, std::vector<MeasuredWork>> kinds, held_back;
    for (const SurfacePlan& plan : plans) {
      std::map<Channels, int> place;  // one that was measured in several runs is held back in all
      for (const Point& p : points) {
        if (p.key != plan.key || p.recipe != recipe || p.point != "surface" || !(p.energy_j > 0)) continue;
        const int i = place.emplace(p.channels, static_cast<int>(place.size())).first->second;
        (i % kFolds == fold ? held_back : kinds)[plan.key].push_back(metered(plan, p, recipe));
      }
      if (kinds[plan.key].size() < 4) kinds.erase(plan.key);
    }
    std::vector<MeasuredWork> all;
    for (const auto& [key, seen] : kinds) all.insert(all.end(), seen.begin(), seen.end());
    if (all.empty()) continue;
    double mean_log_w = 0;
    for (const MeasuredWork& m : all)
      mean_log_w += std::log(*m.energy_j / m.time_s) / static_cast<double>(all.size());
    const WorkModel together(all, true);
    for (const auto& [key, seen] : kinds) {
      const WorkModel alone(seen, true);
      for (const MeasuredWork& m : held_back[key]) {
        if (how == Power::kOneForAll) {
          score.add(std::exp(mean_log_w) * m.time_s, *m.energy_j, 0.2);
          continue;
        }
        const WorkBelief told =
            (how == Power::kOfEachKind ? alone : together).believed({{m.place, m.works, m.time_s}});
        score.add(told.power_w(0) * m.time_s, *m.energy_j, std::sqrt(told.power_covariance(0, 0)));
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
  score_times(kinds, usual, kAll).print("as it is: Matérn 1/2, steps, logarithms, physical mean");
  SurfaceOptions o = usual;
  o.gp.kernel = KernelType::kMatern52;
  score_times(kinds, o, kAll).print("kernel: Matérn 5/2 (the paper's)");
  o = usual;
  o.most_steps = 0;
  score_times(kinds, o, kAll).print("no steps");
  score_times(kinds, o, 25).print("no steps, the first 25 points only");
  o = usual;
  o.physical_mean = false;
  score_times(kinds, o, kAll).print("constant mean");
  score_times(kinds, o, 8).print("constant mean, the first 8 points only");
  o = usual;
  o.gp.length_prior.reset();
  score_times(kinds, o, kAll).print("no belief about length-scales");
  score_times(kinds, o, 8).print("no belief about length-scales, the first 8 points only");
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
    const Score together = score_held_back(points, plans, recipe, Power::kOfAllKinds);
    if (together.count > 0) {
      std::printf(
          "\n%s at batch %lld, recipe %s\n\n| energies held back, their times known | error | z | places |\n"
          "| --- | --- | --- | --- |\n",
          model.c_str(), static_cast<long long>(batch), recipe.c_str());
      score_held_back(points, plans, recipe, Power::kOneForAll).print("one power for all");
      score_held_back(points, plans, recipe, Power::kOfEachKind).print("each kind by itself");
      together.print("as it is: what all kinds have shown");
    }
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
