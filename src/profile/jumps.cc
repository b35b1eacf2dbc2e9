#include "profile/jumps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ampere {
namespace {

// Closer pairs tell the edge of a region well enough, as a share of the domain.
constexpr double kCloseEnough = 0.04;

std::int64_t halfway(const Range& range, std::int64_t a, std::int64_t b) {
  const std::int64_t step = std::max<std::int64_t>(1, range.step);
  return range.min + ((a - range.min) / step + (b - range.min) / step) / 2 * step;
}

Eigen::Vector2d share_of(const Domain& domain, const Channels& c) {
  const auto share = [](const Range& range, std::int64_t v) {
    const auto width = static_cast<double>(std::max<std::int64_t>(1, range.max - range.min));
    return static_cast<double>(v - range.min) / width;
  };
  return {share(domain.in, c.in), share(domain.out, c.out)};
}

}  // namespace

std::optional<Channels> between_jump(Surface surface, const Domain& domain,
                                     const std::vector<Channels>& places, const Eigen::VectorXd& residuals,
                                     const std::set<Channels>& excluded, double least) {
  std::vector<Eigen::Vector2d> at;
  at.reserve(places.size());
  for (const Channels& c : places) at.push_back(share_of(domain, c));
  // Delaunay's: some circle through both has no third point inside. Its centre lies on their bisector, `t`
  // from the middle, and each other point says on which side of which t.
  const auto neighbours = [&](std::size_t a, std::size_t b) {
    const Eigen::Vector2d middle = (at[a] + at[b]) / 2;
    const Eigen::Vector2d along = at[b] - at[a];
    const Eigen::Vector2d across(-along.y(), along.x());
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < at.size(); ++c) {
      if (c == a || c == b) continue;
      const Eigen::Vector2d off = at[c] - middle;
      const double side = 2 * across.dot(off);
      const double outside = off.squaredNorm() - along.squaredNorm() / 4;
      if (off.norm() < kCloseEnough / 2) return false;
      if (std::abs(side) < 1e-12) {
        if (outside < 0) return false;
      } else if (side > 0) {
        highest = std::min(highest, outside / side);
      } else {
        lowest = std::max(lowest, outside / side);
      }
    }
    return lowest <= highest;
  };
  const std::set<Channels> measured(places.begin(), places.end());
  std::optional<Channels> best;
  double best_score = 0;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      const double jump =
          std::abs(residuals(static_cast<Eigen::Index>(a)) - residuals(static_cast<Eigen::Index>(b)));
      const double distance = (at[a] - at[b]).norm();
      if (jump < least || distance < kCloseEnough || jump * distance <= best_score) continue;
      Channels c{halfway(domain.in, places[a].in, places[b].in),
                 halfway(domain.out, places[a].out, places[b].out)};
      if (surface == Surface::kTied) c.out = c.in;
      if (measured.count(c) || excluded.count(c) || !neighbours(a, b)) continue;
      best = c;
      best_score = jump * distance;
    }
  }
  return best;
}

}  // namespace ampere
