// What points after the first 64 do for surfaces on which one kernel is chosen within a region of channels
// and another outside of it, as HAR's 1-D convolutions have on an H200
// (results/h200/points_families_9008.csv): made surfaces, so that each place can be "measured".
//
//   edges
#include <cmath>
#include <cstdio>
#include <random>

#include "model/surface_model.h"
#include "network/zoo.h"
#include "profile/jumps.h"

namespace ampere {
namespace {

constexpr Domain kDomain{{1, 64, 1}, {1, 128, 1}};
constexpr double kJump = 0.25;
constexpr int kSurfaces = 20, kFirst = 64, kMore = 16, kJudged = 200;

struct Made {
  Channels low, high;  // of the region
  double factor;       // the other kernel's time per FLOP over the usual one's
  double time_s(Channels c) const {
    const bool other = c.in >= low.in && c.in <= high.in && c.out >= low.out && c.out <= high.out;
    const double work = static_cast<double>(c.in * c.out);
    return 25e-6 + (other ? 35e-6 : 0) + 5e-9 * work * (other ? factor : 1);
  }
};

int between(int low, int high, std::mt19937* random) {
  return low + static_cast<int>((*random)() % static_cast<unsigned>(high - low + 1));
}

// Networks have more wide layers than narrow ones, which numbers drawn evenly do too.
Channels anywhere(std::mt19937* random) { return {between(1, 64, random), between(1, 128, random)}; }

SurfaceModel fitted(const std::vector<Observation>& seen, bool steps) {
  SurfaceOptions options = default_surface_options();
  if (!steps) options.most_steps = 0;
  const LayerKind kind = parse_layers(build(parse_zoo("har")), 10).at(1).kind;
  return {seen, Surface::kInOut, CostPolynomial(kind, true), options};
}

void score(const char* what, bool steps, int more) {
  double off = 0, squared_z = 0, points = 0;
  int far = 0;
  for (int i = 0; i < kSurfaces; ++i) {
    std::mt19937 random(static_cast<unsigned>(i + 1));
    const Channels low{between(8, 40, &random), between(8, 60, &random)};
    const Made made{low,
                    {between(0, 1, &random) ? 64 : between(static_cast<int>(low.in) + 10, 64, &random),
                     between(static_cast<int>(low.out) + 20, 110, &random)},
                    double(between(2, 40, &random))};
    std::vector<Observation> seen;
    const auto measure = [&](Channels c) { seen.push_back({c, made.time_s(c), 0.002, 0.005}); };
    for (const Channels c : {Channels{1, 1}, {64, 1}, {1, 128}, {64, 128}}) measure(c);
    std::set<Channels> taken;
    for (const Observation& o : seen) taken.insert(o.channels);
    while (seen.size() < kFirst) {
      const Channels c = anywhere(&random);
      if (taken.insert(c).second) measure(c);
    }
    std::mt19937 judges(1000);
    for (int k = 0; k < more; ++k) {
      const auto place = within_step(fitted(seen, steps), Surface::kInOut, kDomain, {}, kJump);
      if (!place) break;
      measure(*place);
    }
    const SurfaceModel model = fitted(seen, steps);
    for (int k = 0; k < kJudged; ++k) {
      const Channels c = anywhere(&judges);
      const SurfacePrediction at = model.at({c});
      const double error = std::log(at.mean(0) / made.time_s(c));
      off += std::abs(std::exp(error) - 1);
      far += std::abs(error) > 0.2;
      squared_z += error * error * at.mean(0) * at.mean(0) / std::max(at.covariance(0, 0), 1e-30);
    }
    points += static_cast<double>(seen.size());
  }
  const double judged = kSurfaces * kJudged;
  std::printf("| %s | %.0f | %.1f%% | %.1f%% | %.2f |\n", what, points / kSurfaces, 100 * off / judged,
              100 * far / judged, std::sqrt(squared_z / judged));
  std::fflush(stdout);
}

}  // namespace
}  // namespace ampere

int main() {
  using namespace ampere;
  std::printf(
      "| surface, points after the first 64 | points | error | off by more than 20%% | z |\n"
      "| --- | --- | --- | --- | --- |\n");
  score("smooth, none", false, 0);
  score("with steps, none", true, 0);
  score("with steps, between their sides", true, kMore);
}
