#include "board/between.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace ampere {
namespace {

double squared(double a) { return a * a; }

}  // namespace

Between::Between(std::vector<Recorded> places) {
  if (places.empty()) throw bad_input("nothing was recorded to look between");
  const auto before = [](const Recorded& a, const Recorded& b) {
    return std::make_pair(a.x, a.y) < std::make_pair(b.x, b.y);
  };
  std::sort(places.begin(), places.end(), before);
  for (std::size_t i = 0, next = 0; i < places.size(); i = next) {
    double sum = 0;
    for (next = i; next < places.size() && !before(places[i], places[next]); ++next)
      sum += places[next].value;
    places_.push_back({places[i].x, places[i].y, sum / static_cast<double>(next - i)});
  }
  // Four places on one circle, as on any grid, can be joined in two ways: everywhere in the same one, or the
  // surface would be torn.
  constexpr double kGolden = 0.6180339887498949, kLittle = 1e-7;
  double width = 0, height = 0;
  for (const Recorded& place : places_) {
    width = std::max(width, place.x - places_.front().x);
    height = std::max(height, std::abs(place.y - places_.front().y));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const double turn =
        kGolden * squared(static_cast<double>(i));  // of rectangles on a grid no sums are equal
    raised_.push_back(kLittle * (squared(width) + squared(height)) * (turn - std::floor(turn)));
  }
}

// Of all triangles around a place, Delaunay's is the one whose corners have the smallest mean of squared
// distances from it, each counting as much as it does for the value. Looking at all of them takes a
// millisecond for a hundred places.
double Between::operator()(double x, double y) const {
  const std::size_t count = places_.size();
  std::vector<Recorded> p = places_;  // seen from there
  std::vector<double> away(count);
  for (std::size_t i = 0; i < count; ++i) {
    p[i].x -= x;
    p[i].y -= y;
    away[i] = squared(p[i].x) + squared(p[i].y);
    if (away[i] == 0) return p[i].value;
    away[i] += raised_[i];
  }
  const auto cross = [&](std::size_t i, std::size_t j) { return p[i].x * p[j].y - p[i].y * p[j].x; };
  double value = 0, least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const double ij = cross(i, j);
      for (std::size_t k = j + 1; k < count; ++k) {
        const double jk = cross(j, k), ki = cross(k, i), area = ij + jk + ki;
        if (area == 0 || ij * area < 0 || jk * area < 0 || ki * area < 0) continue;
        const double distance = (jk * away[i] + ki * away[j] + ij * away[k]) / area;
        if (distance >= least) continue;
        least = distance;
        value = (jk * p[i].value + ki * p[j].value + ij * p[k].value) / area;
      }
    }
  }
  return std::isfinite(least) ? value : on_a_line(x, y);
}

double Between::on_a_line(double x, double y) const {
  double value = places_.front().value, least = std::numeric_limits<double>::infinity(), shortest = least;
  for (const Recorded& a : places_) {
    for (const Recorded& b : places_) {
      const double length = squared(b.x - a.x) + squared(b.y - a.y);
      const double along = (x - a.x) * (b.x - a.x) + (y - a.y) * (b.y - a.y);
      const double share = length > 0 ? std::clamp(along / length, 0.0, 1.0) : 0;
      const double away = squared(a.x + share * (b.x - a.x) - x) + squared(a.y + share * (b.y - a.y) - y);
      // Where several lead past it as closely, the two that are next to each other.
      const bool closer = away < least - 1e-9, as_close = away < least + 1e-9 && length < shortest;
      if (!closer && !as_close) continue;
      least = std::min(least, away);
      shortest = length;
      value = a.value + share * (b.value - a.value);
    }
  }
  return value;
}

}  // namespace ampere
