#include "profile/guided.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

constexpr int kGridPerDimension = 24;

// At most kGridPerDimension values of the range, log-spaced, both ends among them.
std::vector<std::int64_t> values_of(const Range& range) {
  std::vector<std::int64_t> all;
  const std::int64_t step = std::max<std::int64_t>(1, range.step);
  const std::int64_t count = (range.max - range.min) / step + 1;
  if (count <= kGridPerDimension) {
    for (std::int64_t v = range.min; v <= range.max; v += step) all.push_back(v);
  } else {
    const double ratio = static_cast<double>(range.max) / static_cast<double>(range.min);
    for (int i = 0; i < kGridPerDimension; ++i) {
      const double wanted =
          static_cast<double>(range.min) * std::pow(ratio, i / double(kGridPerDimension - 1));
      const auto steps = static_cast<std::int64_t>(
          std::llround((wanted - static_cast<double>(range.min)) / static_cast<double>(step)));
      all.push_back(std::min(range.min + steps * step, range.max));
    }
  }
  if (all.back() != range.max) all.push_back(range.max);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<Channels> combine(Surface surface, const std::vector<std::int64_t>& in,
                              const std::vector<std::int64_t>& out) {
  std::vector<Channels> places;
  if (surface == Surface::kTied) {
    for (std::int64_t c : in) places.push_back({c, c});
    return places;
  }
  for (std::int64_t i : in) {
    for (std::int64_t o : out) places.push_back({i, o});
  }
  return places;
}

std::vector<Channels> corners(Surface surface, const Domain& d, const GuidedOptions& options) {
  const Channels low{d.in.min, d.out.min};
  const Channels high{d.in.max, d.out.max};
  std::vector<Channels> all = {high, low};
  if (surface == Surface::kInOut && options.all_corners)
    all = {high, low, {low.in, high.out}, {high.in, low.out}};
  std::vector<Channels> distinct;
  for (const Channels& c : all) {
    if (std::find(distinct.begin(), distinct.end(), c) == distinct.end()) distinct.push_back(c);
  }
  return distinct;
}

// True when the corners of what was measured are themselves measured, and the place lies between them:
// a larger network of this kind was profiled before.
bool enclosed(Surface surface, const std::set<Channels>& measured, const Channels& place,
              const GuidedOptions& options) {
  if (measured.empty()) return false;
  const Channels& any = *measured.begin();
  Domain box{{any.in, any.in}, {any.out, any.out}};
  for (const Channels& c : measured) {
    box.in = {std::min(box.in.min, c.in), std::max(box.in.max, c.in)};
    box.out = {std::min(box.out.min, c.out), std::max(box.out.max, c.out)};
  }
  if (!box.in.contains(place.in) || !box.out.contains(place.out)) return false;
  const std::vector<Channels> ends = corners(surface, box, options);
  return std::all_of(ends.begin(), ends.end(), [&](const Channels& c) { return measured.count(c) > 0; });
}

}  // namespace

namespace {

// The van der Corput sequence: fills (0, 1) evenly however far it is followed.
double radical_inverse(int index, int base) {
  double value = 0;
  for (double digit = 1.0 / base; index > 0; index /= base, digit /= base) value += digit * (index % base);
  return value;
}

std::int64_t place_in(const Range& range, double share) {
  const std::int64_t step = std::max<std::int64_t>(1, range.step);
  const std::int64_t count = (range.max - range.min) / step + 1;
  return range.min +
         step * std::min(count - 1, static_cast<std::int64_t>(share * static_cast<double>(count)));
}

// The first new place of a sequence (Halton's) that fills the domain evenly.
template <class IsNew>
std::optional<Channels> spread_point(Surface surface, const Domain& domain, const IsNew& is_new) {
  constexpr int kFar = 4096;
  for (int i = 1; i < kFar; ++i) {
    Channels c{place_in(domain.in, radical_inverse(i, 2)), place_in(domain.out, radical_inverse(i, 3))};
    if (surface == Surface::kTied) c.out = c.in;
    if (surface == Surface::kOut) c.out = place_in(domain.out, radical_inverse(i, 2));
    if (is_new(c)) return c;
  }
  return std::nullopt;
}

}  // namespace

const char* to_word(StopWhy why) {
  switch (why) {
    case StopWhy::kPointLimit:
      return "point limit";
    case StopWhy::kCertain:
      return "certain";
    case StopWhy::kExhausted:
      return "nothing left";
    default:
      return "going on";
  }
}

std::vector<Channels> candidates(Surface surface, const Domain& domain) {
  return combine(surface, values_of(domain.in), values_of(domain.out));
}

std::size_t corner_count(Surface surface, const Domain& domain, const GuidedOptions& options) {
  return corners(surface, domain, options).size();
}

NextPoint next_point(Surface surface, const Domain& domain, const std::set<Channels>& measured,
                     const std::set<Channels>& excluded, const Deviations& deviations,
                     const GuidedOptions& options, const std::vector<Channels>& typical) {
  auto is_new = [&](const Channels& c) { return !measured.count(c) && !excluded.count(c); };
  for (const Channels& c : corners(surface, domain, options)) {
    if (is_new(c) && !enclosed(surface, measured, c, options)) return {c, StopWhy::kGoOn, 1};
  }
  const bool two = surface == Surface::kInOut;
  const int limit = two ? options.max_points_2d : options.max_points_1d;
  const int least = two ? options.min_points_2d : options.min_points_1d;
  const auto count = static_cast<int>(measured.size());

  const std::vector<Channels> places = candidates(surface, domain);
  NextPoint next;
  if (deviations) {
    const Eigen::VectorXd deviation = deviations(places);
    next.deviation = deviation.maxCoeff();
    double largest = -1;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double d = deviation(static_cast<Eigen::Index>(i));
      if (is_new(places[i]) && d > largest) {
        largest = d;
        next.channels = places[i];
      }
    }
  } else {
    auto it = std::find_if(places.begin(), places.end(), is_new);
    if (it != places.end()) next.channels = *it;
  }
  if (next.channels && count % 3 < options.spread_of_three) {
    const auto place = std::find_if(typical.begin(), typical.end(), is_new);
    if (place != typical.end())
      next.channels = *place;
    else if (const auto spread = spread_point(surface, domain, is_new))
      next.channels = spread;
  }
  if (count >= limit)
    next.why = StopWhy::kPointLimit;
  else if (!next.channels)
    next.why = StopWhy::kExhausted;
  else if (count >= least && next.deviation < options.stop_deviation)
    next.why = StopWhy::kCertain;
  if (next.why != StopWhy::kGoOn) next.channels.reset();
  return next;
}

}  // namespace ampere
