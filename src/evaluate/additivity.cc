#include "evaluate/additivity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

constexpr std::int64_t kClasses = 10;

double range(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high - *low;
}

const char* to_word(MeasureMode mode) { return mode == MeasureMode::kReplay ? "replay" : "eager"; }

class Run {
 public:
  Run(const Measure& measure, const AdditivityOptions& options) : measure_(measure), options_(options) {
    const auto networks = static_cast<std::size_t>(options.added) + 1;
    for (std::size_t i = 0; i < networks; ++i)
      networks_.push_back(stacked_network(static_cast<int>(i), options.stack));
    for (const MeasureMode mode : options.modes) {
      AdditivitySeries series;
      series.mode = mode;
      series.points.resize(networks);
      result_.series.push_back(std::move(series));
    }
    if (options.phases) result_.phases.resize(networks);
    expected_ =
        options.passes * static_cast<int>(networks * (options.modes.size() + (options.phases ? 3 : 0)));
  }

  Additivity run() {
    for (int pass = 0; pass < options_.passes; ++pass) {
      for (std::size_t i = 0; i < networks_.size(); ++i)
        measure_network(pass % 2 == 0 ? i : networks_.size() - 1 - i);
    }
    for (AdditivitySeries& series : result_.series) {
      std::vector<double> energy, time;
      for (const AdditivityPoint& p : series.points) {
        energy.push_back(p.energy_j.value());
        time.push_back(p.time_s.value());
      }
      series.energy = fit_line(energy);
      series.time = fit_line(time);
    }
    return std::move(result_);
  }

 private:
  // All that is compared with each other is measured one right after the other.
  void measure_network(std::size_t i) {
    for (AdditivitySeries& series : result_.series) {
      const Measurement m = measured(networks_[i], series.mode, Phase::kIteration);
      series.points[i].energy_j.passes.push_back(*m.energy_j);
      series.points[i].time_s.passes.push_back(m.time_s);
    }
    if (!options_.phases) return;
    PhasesPoint& p = result_.phases[i];
    for (auto [phase, values] : {std::pair{Phase::kForward, &p.forward_j},
                                 {Phase::kBackward, &p.backward_j},
                                 {Phase::kUpdate, &p.update_j}}) {
      values->passes.push_back(*measured(networks_[i], MeasureMode::kEager, phase).energy_j);
    }
  }

  Measurement measured(const Network& network, MeasureMode mode, Phase phase) {
    if (options_.progress) options_.progress(result_.measurements, expected_, network.name());
    MeasureRequest request = request_for({network, true, false}, options_.batch, options_.how);
    request.mode = mode;
    request.phase = phase;
    Measurement m = measure_(request);
    if (!m.energy_j || !(*m.energy_j > 0)) {
      throw Error(ErrorKind::kNoMeter,
                  "network " + network.name() + " was measured without energy; choose a meter");
    }
    if (m.mode != to_word(mode)) {
      throw Error(ErrorKind::kFailed, "network " + network.name() + " was not measured in mode " +
                                          to_word(mode) + (m.note.empty() ? "" : " (" + m.note + ")") +
                                          "; choose another with --mode");
    }
    ++result_.measurements;
    if (!m.stable) ++result_.unstable;
    result_.modelled = result_.modelled || m.modelled;
    return m;
  }

  const Measure& measure_;
  const AdditivityOptions& options_;
  std::vector<Network> networks_;
  Additivity result_;
  int expected_ = 0;
};

Json fit_json(const LineFit& fit, const std::string& unit) {
  return {{"intercept_" + unit, fit.intercept},
          {"per_layer_" + unit, fit.slope},
          {"r2", fit.r2 ? Json(*fit.r2) : Json(nullptr)},
          {"mean_residual", fit.mean_residual},
          {"largest_residual", fit.largest_residual}};
}

Json series_json(const AdditivitySeries& s) {
  Json networks = Json::array();
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const AdditivityPoint& p = s.points[i];
    Json one = {{"layers_added", i},
                {"energy_j", p.energy_j.value()},
                {"energy_spread_j", p.energy_j.spread()},
                {"energy_passes_j", p.energy_j.passes},
                {"energy_residual", s.energy.residuals[i]},
                {"time_s", p.time_s.value()},
                {"time_spread_s", p.time_s.spread()},
                {"time_passes_s", p.time_s.passes},
                {"time_residual", s.time.residuals[i]},
                {"increment_j", nullptr},
                {"increment_spread_j", nullptr}};
    if (i > 0) {
      const Increment step = s.increment(i);
      one["increment_j"] = step.energy_j;
      one["increment_spread_j"] = step.spread_j;
    }
    networks.push_back(std::move(one));
  }
  return {{"networks", std::move(networks)},
          {"mean_energy_spread", s.mean_spread()},
          {"energy_fit", fit_json(s.energy, "j")},
          {"time_fit", fit_json(s.time, "s")}};
}

}  // namespace

Network stacked_network(int added, const StackOptions& options) {
  Network network("stack" + std::to_string(added));
  int last =
      network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{1, options.size, options.size}}});
  for (int i = 0; i <= added; ++i) {
    last = network.add(
        Op::kConv2d, {last},
        {{"out_channels", options.channels}, {"kernel", std::int64_t{3}}, {"padding", std::int64_t{1}}},
        "conv" + std::to_string(i + 1));
    last = network.add(Op::kRelu, {last});
  }
  last = network.add(Op::kFlatten, {last});
  network.add(Op::kLinear, {last}, {{"out_features", kClasses}}, "fc");
  return network;
}

LineFit fit_line(const std::vector<double>& values) {
  // Weighted least squares with weights 1 / value^2, around the weighted means.
  double weights = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double w = 1 / (values[i] * values[i]);
    weights += w;
    mean_x += w * static_cast<double>(i);
    mean_y += w * values[i];
  }
  mean_x /= weights;
  mean_y /= weights;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double w = 1 / (values[i] * values[i]);
    const double x = static_cast<double>(i) - mean_x, y = values[i] - mean_y;
    xx += w * x * x;
    xy += w * x * y;
    yy += w * y * y;
  }
  LineFit fit;
  fit.slope = xy / xx;
  fit.intercept = mean_y - fit.slope * mean_x;
  double left = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double r = (values[i] - fit.intercept - fit.slope * static_cast<double>(i)) / values[i];
    fit.residuals.push_back(r);
    left += r * r;
    fit.mean_residual += std::abs(r) / static_cast<double>(values.size());
    fit.largest_residual = std::max(fit.largest_residual, std::abs(r));
  }
  if (range(values) > 0) fit.r2 = 1 - left / yy;
  return fit;
}

double Repeated::value() const { return median(passes); }
double Repeated::spread() const { return range(passes); }

const char* AdditivitySeries::name() const { return to_word(mode); }

double AdditivitySeries::mean_spread() const {
  double sum = 0;
  for (const AdditivityPoint& p : points) sum += p.energy_j.spread() / p.energy_j.value();
  return sum / static_cast<double>(points.size());
}

Increment AdditivitySeries::increment(std::size_t point) const {
  const Repeated& now = points[point].energy_j;
  const Repeated& before = points[point - 1].energy_j;
  std::vector<double> steps;
  for (std::size_t i = 0; i < now.passes.size(); ++i) steps.push_back(now.passes[i] - before.passes[i]);
  return {now.value() - before.value(), range(steps)};
}

double PhasesPoint::sum_j() const { return forward_j.value() + backward_j.value() + update_j.value(); }

double PhasesPoint::spread_j() const {
  std::vector<double> sums;
  for (std::size_t i = 0; i < forward_j.passes.size(); ++i)
    sums.push_back(forward_j.passes[i] + backward_j.passes[i] + update_j.passes[i]);
  return range(sums);
}

double Additivity::phases_over(std::size_t point) const {
  return phases[point].sum_j() / series.front().points[point].energy_j.value() - 1;
}

Additivity measure_additivity(const Measure& measure, const AdditivityOptions& options) {
  return Run(measure, options).run();
}

Json to_json(const Additivity& a) {
  Json out = {{"measurements", a.measurements}, {"unstable", a.unstable}};
  for (const AdditivitySeries& s : a.series) out["modes"][s.name()] = series_json(s);
  for (std::size_t i = 0; i < a.phases.size(); ++i) {
    const PhasesPoint& p = a.phases[i];
    out["phases"].push_back({{"layers_added", i},
                             {"forward_j", p.forward_j.value()},
                             {"forward_passes_j", p.forward_j.passes},
                             {"backward_j", p.backward_j.value()},
                             {"backward_passes_j", p.backward_j.passes},
                             {"update_j", p.update_j.value()},
                             {"update_passes_j", p.update_j.passes},
                             {"sum_j", p.sum_j()},
                             {"sum_spread_j", p.spread_j()},
                             {"over_iteration", a.phases_over(i)}});
  }
  return out;
}

}  // namespace ampere
