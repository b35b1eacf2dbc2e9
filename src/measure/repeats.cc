#include "measure/repeats.h"

#include <cmath>
#include <numeric>

#include "base/statistics.h"
#include "base/units.h"
#include "meter/meter.h"

namespace ampere {
namespace {

// One figure of every measurement that has it.
template <class Figure>
std::vector<double> figures(const Repeats& repeats, Figure figure) {
  std::vector<double> values;
  for (const Repeat& repeat : repeats.all) {
    const std::optional<double> value = figure(repeat.measurement);
    if (value) values.push_back(*value);
  }
  return values;
}

std::optional<double> median_or_none(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

std::optional<double> energy(const Measurement& m) { return m.energy_j; }
std::optional<double> time(const Measurement& m) { return m.time_s; }

}  // namespace

Repeats measure_repeatedly(const std::function<Measurement()>& measure, int count) {
  Repeats repeats;
  while (static_cast<int>(repeats.all.size()) < count) {
    const Seconds start = now();
    try {
      const Measurement m = measure();
      repeats.all.push_back({m, (now() - start).value()});
    } catch (const Error& e) {
      if (repeats.all.empty()) throw;
      repeats.ended = e;
      break;
    }
  }
  return repeats;
}

std::optional<double> scatter(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / (n - 1)) / mean;
}

std::optional<double> energy_scatter(const Repeats& repeats) { return scatter(figures(repeats, energy)); }
std::optional<double> time_scatter(const Repeats& repeats) { return scatter(figures(repeats, time)); }

Measurement median_of(const Repeats& repeats) {
  const Measurement& first = repeats.all.front().measurement;
  Measurement m = first;
  m.energy_j = median_or_none(figures(repeats, energy));
  m.time_s = median(figures(repeats, time));
  m.host_s = median_or_none(figures(repeats, [](const Measurement& r) { return r.host_s; }));
  m.energy_error =
      median(figures(repeats, [](const Measurement& r) { return std::optional(r.energy_error); }));
  m.time_error = median(figures(repeats, [](const Measurement& r) { return std::optional(r.time_error); }));
  for (std::size_t i = 1; i < repeats.all.size(); ++i) {
    const Measurement& r = repeats.all[i].measurement;
    m.windows += r.windows;
    m.outliers += r.outliers;
    m.iterations += r.iterations;
    m.stable = m.stable && r.stable;
    if (m.note.empty()) m.note = r.note;
  }
  m.after = repeats.all.back().measurement.after;
  return m;
}

}  // namespace ampere
