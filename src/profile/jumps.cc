#include "profile/jumps.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

std::int64_t halfway(const Range& range, std::int64_t a, std::int64_t b) {
  const std::int64_t step = std::max<std::int64_t>(1, range.step);
  return range.min + ((a - range.min) / step + (b - range.min) / step) / 2 * step;
}

}  // namespace

std::optional<Channels> within_step(const SurfaceModel& model, Surface surface, const Domain& domain,
                                    const std::set<Channels>& excluded, double least) {
  std::set<Channels> taken = excluded;
  for (const Observation& o : model.observations()) taken.insert(o.channels);
  std::optional<Channels> best;
  for (const SurfaceStep& step : model.steps()) {
    const Range& range = step.of_in ? domain.in : domain.out;
    const std::int64_t middle = halfway(range, step.from, step.to);
    if (middle <= step.from || middle >= step.to || !range.contains(middle)) continue;
    const auto moved = [&](Channels c, std::int64_t value) {
      (step.of_in ? c.in : c.out) = value;
      if (surface == Surface::kTied) c.out = c.in;
      return c;
    };
    for (const Observation& o : model.observations()) {
      const Channels place = moved(o.channels, middle);
      const double jump = std::abs(
          std::log(model.mean_at(moved(o.channels, step.to)) / model.mean_at(moved(o.channels, step.from))));
      if (jump < least || taken.count(place)) continue;
      least = jump;
      best = place;
    }
  }
  return best;
}

}  // namespace ampere
