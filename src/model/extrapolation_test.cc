// Intervals outside of the measured channels, held against points that were recorded on a real device: a
// surface is fitted to its narrow layers and asked for the wide ones.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "model/surface_model.h"
#include "model/surface_plan.h"
#include "network/zoo.h"

namespace ampere {
namespace {

struct Recorded {
  Channels channels;
  double time_s;
};

// Times by surface, of tools/export_points: run, recipe, point, key, in, out, time_s, ...
std::map<std::string, std::vector<Recorded>> recorded(const std::string& file) {
  std::map<std::string, std::vector<Recorded>> out;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> f;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) f.push_back(cell);
    if (f.size() > 6)
      out[f[0] + " " + f[1] + " " + f[3]].push_back({{std::stoll(f[4]), std::stoll(f[5])}, std::stod(f[6])});
  }
  return out;
}

struct Tally {
  int places = 0, held = 0;
  double width = 0, off = 0;  // sums of logarithms
};

// By how many factors of e the place lies outside, in halves.
using ByDistance = std::map<int, Tally>;

// Fitted up to a `share`th of the widest.
void judge(const SurfacePlan& plan, const std::vector<Recorded>& points, std::int64_t share,
           ByDistance& tallies) {
  std::int64_t in = 0, out = 0;
  for (const Recorded& p : points) {
    in = std::max(in, p.channels.in);
    out = std::max(out, p.channels.out);
  }
  std::vector<Observation> narrow;
  Channels widest;
  for (const Recorded& p : points) {
    if (p.channels.in * share > in || p.channels.out * share > out) continue;
    narrow.push_back({p.channels, p.time_s, 0.005, 0.005});
    widest = {std::max(widest.in, p.channels.in), std::max(widest.out, p.channels.out)};
  }
  constexpr std::size_t kEnough = 6;
  if (narrow.size() < kEnough) return;
  const SurfaceModel model(narrow, plan.kind.surface,
                           CostPolynomial(plan.kind, hands_gradient_down(plan.role)),
                           default_surface_options());
  for (const Recorded& p : points) {
    const double distance = std::hypot(
        std::log(std::max(1.0, static_cast<double>(p.channels.in) / static_cast<double>(widest.in))),
        std::log(std::max(1.0, static_cast<double>(p.channels.out) / static_cast<double>(widest.out))));
    if (distance == 0) continue;
    const SurfacePrediction told = model.at({p.channels});
    const double deviation = std::sqrt(std::log1p(told.covariance(0, 0) / (told.mean(0) * told.mean(0))));
    const double off = std::abs(std::log(p.time_s / told.mean(0)));
    Tally& t = tallies[static_cast<int>(2 * distance)];
    ++t.places;
    t.held += off < 1.96 * deviation;
    t.width += deviation;
    t.off += off;
  }
}

TEST(Extrapolation, RecordedPointsLieInsideTheIntervalsWhichWidenWithDistance) {
  ByDistance tallies;
  const std::pair<const char*, std::vector<std::pair<const char*, int>>> files[] = {
      {"points_families_9008.csv", {{"cnn5", 10}, {"cnn5", 256}, {"har", 10}, {"lenet5", 10}}},
      {"points_resnet_9007.csv", {{"resnet18-cifar", 32}}},
      {"points_resnet_9009.csv", {{"resnet18-cifar", 32}}}};
  for (const auto& [file, models] : files) {
    const auto points = recorded(std::string(AMPERE_RESULTS) + "/h200/" + file);
    ASSERT_FALSE(points.empty()) << file;
    for (const auto& [model, batch] : models) {
      for (const SurfacePlan& plan : split_plans(parse_layers(build(parse_zoo(model)), batch))) {
        if (plan.kind.surface != Surface::kInOut) continue;
        for (const auto& [name, seen] : points) {
          if (name.substr(name.rfind(' ') + 1) != plan.key) continue;
          for (const std::int64_t share : {2, 3, 5, 8}) judge(plan, seen, share, tallies);
        }
      }
    }
  }
  int places = 0, held = 0;
  double before = 0;
  for (const auto& [distance, t] : tallies) {
    const double width = t.width / t.places;
    std::printf("%.1f to %.1f factors of e outside: %4d places, %5.1f%% held, deviation %.2f, off by %.2f\n",
                0.5 * distance, 0.5 * (distance + 1), t.places, 100.0 * t.held / t.places, width,
                t.off / t.places);
    EXPECT_GT(width, before) << distance;
    before = width;
    places += t.places;
    held += t.held;
  }
  EXPECT_GT(places, 500);
  EXPECT_GE(held, 0.9 * places);
}

}  // namespace
}  // namespace ampere
