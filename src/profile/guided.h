// Guided profiling (paper, section 3.3): which point of a surface to measure next, and when to stop.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ampere/profile.h"
#include "layers/parse.h"

namespace ampere {

struct GuidedOptions {
  int max_points_1d = 8;   // point limit of surfaces with one free channel number
  int max_points_2d = 18;  // of those with two
  int min_points_1d = 4;   // the deviation is not believed before
  int min_points_2d = 7;
  double stop_deviation = 0.05;  // largest standard deviation over mean that is good enough
  bool all_corners = true;       // start with every corner; false: lowest and highest only (the paper)
  // How many of every three points after the corners are chosen evenly over the domain (or over the typical
  // places, where those are known) instead of where the variance is largest. The largest variance is mostly
  // at the edges of the domain, while networks lie inside it (docs/accuracy.md). 0: always the largest
  // variance, as the paper does.
  int spread_of_three = 0;
  // Points beyond the limit, halfway between the two sides of a step (jumps.h): for surfaces whose points are
  // cheap.
  int jump_points_1d = 0;
  int jump_points_2d = 0;
};

// Standard deviation over mean at each place.
using Deviations = std::function<Eigen::VectorXd(const std::vector<Channels>&)>;

struct NextPoint {
  std::optional<Channels> channels;  // absent: stop
  StopWhy why = StopWhy::kGoOn;
  double deviation = 1;  // largest relative deviation over the surface, 1 when unknown
};

// Corners first (those inside an area whose corners were measured before are known well enough), then
// the place of largest variance among integer channels that were neither measured
// nor excluded. `deviations` are those of a model fitted to the observations so far; absent while there are
// too few. `typical`: channels of layers in random networks of the family, for the points that are chosen
// evenly. A pure function of what was measured, so a run that was killed goes on as if nothing had happened.
NextPoint next_point(Surface surface, const Domain& domain, const std::set<Channels>& measured,
                     const std::set<Channels>& excluded, const Deviations& deviations,
                     const GuidedOptions& options, const std::vector<Channels>& typical = {});

// How many points the surface starts with.
std::size_t corner_count(Surface surface, const Domain& domain, const GuidedOptions& options);

// Integer places over the domain: all of them when there are few, else log-spaced in each direction.
std::vector<Channels> candidates(Surface surface, const Domain& domain);

}  // namespace ampere
