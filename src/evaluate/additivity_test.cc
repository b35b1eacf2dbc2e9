#include "evaluate/additivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "layers/parse.h"

namespace ampere {
namespace {

using testing::HasSubstr;

// Costs a fixed part and so much per layer, times what `drift` says of the number of measurements so far.
struct AdditiveDevice {
  double drift = 0;
  bool replays = true;
  bool has_meter = true;
  int measured = 0;
  std::vector<std::string> order;

  Measurement operator()(const MeasureRequest& r) {
    order.push_back(r.network.name());
    double cost = 1 + 0.5 * static_cast<double>(parse_layers(r.network, r.batch).size() - 2);
    cost *= 1 + drift * measured++;
    if (r.phase == Phase::kForward) cost *= 0.4;
    if (r.phase == Phase::kBackward) cost *= 0.7;
    if (r.phase == Phase::kUpdate) cost *= 0.1;
    Measurement m;
    if (has_meter) m.energy_j = cost;
    m.time_s = cost / 10;
    m.stable = measured != 1;
    m.modelled = true;
    m.mode = r.mode == MeasureMode::kReplay && replays ? "replay" : "eager";
    if (m.mode == "eager" && r.mode == MeasureMode::kReplay) m.note = "capture failed: reasons";
    return m;
  }
};

Additivity measure_on(AdditiveDevice& device, const AdditivityOptions& options) {
  return measure_additivity([&](const MeasureRequest& r) { return device(r); }, options);
}

TEST(StackedNetwork, EveryAddedLayerIsTheSame) {
  const auto layers = parse_layers(stacked_network(3, {5, 12}), 2);
  ASSERT_EQ(layers.size(), 5u);
  EXPECT_EQ(layers.front().role, LayerRole::kInput);
  EXPECT_EQ(layers.back().role, LayerRole::kOutput);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(layers[i].role, LayerRole::kHidden);
    EXPECT_EQ(layers[i].kind.word(), layers[1].kind.word());
    EXPECT_EQ(layers[i].channels.in, 5);
    EXPECT_EQ(layers[i].channels.out, 5);
  }
  EXPECT_EQ(parse_layers(stacked_network(0, {}), 1).size(), 2u);
}

TEST(FitLine, FindsAnExactLine) {
  const LineFit fit = fit_line({2, 2.5, 3, 3.5, 4});
  EXPECT_NEAR(fit.intercept, 2, 1e-12);
  EXPECT_NEAR(fit.slope, 0.5, 1e-12);
  EXPECT_NEAR(fit.r2.value(), 1, 1e-12);
  EXPECT_NEAR(fit.largest_residual, 0, 1e-12);
  EXPECT_EQ(fit.residuals.size(), 5u);
}

TEST(FitLine, ResidualsTellACurve) {
  const LineFit fit = fit_line({1, 2, 5, 10, 17});
  EXPECT_LT(fit.r2.value(), 0.97);
  EXPECT_GT(fit.mean_residual, 0.1);
  EXPECT_GT(fit.residuals.front(), 0);  // a curve that bends upwards lies above the line at its ends
  EXPECT_GT(fit.residuals.back(), 0);
  EXPECT_LT(fit.residuals[1], 0);
}

TEST(FitLine, LeastSquaresAreRelative) {
  // No other line does better, and that in relative terms.
  const std::vector<double> values = {1, 3, 2, 40};
  const LineFit fit = fit_line(values);
  const auto loss = [&](double intercept, double slope) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += std::pow(1 - (intercept + slope * static_cast<double>(i)) / values[i], 2);
    return sum;
  };
  const double least = loss(fit.intercept, fit.slope);
  for (const double d : {-1e-3, 1e-3}) {
    EXPECT_GT(loss(fit.intercept + d, fit.slope), least);
    EXPECT_GT(loss(fit.intercept, fit.slope + d), least);
  }
}

TEST(FitLine, ScaleChangesNothing) {
  const LineFit joules = fit_line({1, 2, 2.5}), tiny = fit_line({1e-9, 2e-9, 2.5e-9});
  EXPECT_NEAR(joules.r2.value(), tiny.r2.value(), 1e-12);
  EXPECT_NEAR(joules.mean_residual, tiny.mean_residual, 1e-12);
  EXPECT_NEAR(joules.slope * 1e-9, tiny.slope, 1e-20);
}

TEST(FitLine, EqualValuesHaveNoRSquared) {
  const LineFit fit = fit_line({3, 3, 3});
  EXPECT_NEAR(fit.slope, 0, 1e-12);
  EXPECT_FALSE(fit.r2);
}

TEST(Additivity, AnAdditiveDeviceIsFoundToBeOne) {
  AdditiveDevice device;
  AdditivityOptions options;
  options.modes = {MeasureMode::kEager, MeasureMode::kReplay};
  options.phases = true;
  const Additivity a = measure_on(device, options);
  EXPECT_EQ(a.measurements, 7 * 3 * 5);
  EXPECT_EQ(a.unstable, 1);
  EXPECT_TRUE(a.modelled);
  ASSERT_EQ(a.series.size(), 2u);
  for (const AdditivitySeries& s : a.series) {
    EXPECT_NEAR(s.energy.intercept, 1, 1e-12);
    EXPECT_NEAR(s.energy.slope, 0.5, 1e-12);
    EXPECT_NEAR(s.time.slope, 0.05, 1e-12);
    EXPECT_NEAR(s.energy.largest_residual, 0, 1e-12);
    EXPECT_NEAR(s.increment(6).energy_j, 0.5, 1e-12);
    EXPECT_NEAR(s.increment(6).spread_j, 0, 1e-12);
  }
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(a.phases_over(i), 0.2, 1e-12);
  const Json json = to_json(a);
  EXPECT_EQ(json["modes"]["replay"]["networks"].size(), 7u);
  EXPECT_TRUE(json["modes"]["eager"]["networks"][0]["increment_j"].is_null());
  EXPECT_EQ(json["phases"].size(), 7u);
}

TEST(Additivity, PassesTurnAndTellTheDrift) {
  AdditiveDevice device;
  device.drift = 0.01;
  AdditivityOptions options;
  options.added = 2;
  options.passes = 2;
  const Additivity a = measure_on(device, options);
  EXPECT_THAT(device.order, testing::ElementsAre("stack0", "stack1", "stack2", "stack2", "stack1", "stack0"));
  const AdditivitySeries& s = a.series[0];
  // Over both directions every network was measured at the same time on average, so none looks dearer.
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(s.points[i].energy_j.value(), 1.025 * (1 + 0.5 * static_cast<double>(i)), 1e-12);
  EXPECT_NEAR(s.points[0].energy_j.spread(), 0.05, 1e-12);
  EXPECT_NEAR(s.energy.largest_residual, 0, 1e-12);
  EXPECT_NEAR(s.increment(1).spread_j, 0.005, 1e-12);  // neighbours drift together
  EXPECT_NEAR(s.mean_spread(), (0.05 + 0.03 + 0.01) / 1.025 / 3, 1e-12);
  EXPECT_FALSE(to_json(a).contains("phases"));
}

TEST(Additivity, RefusesWhatWasNotMeasured) {
  AdditiveDevice device;
  AdditivityOptions options;
  device.has_meter = false;
  try {
    measure_on(device, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNoMeter);
  }
  device.has_meter = true;
  device.replays = false;
  options.modes = {MeasureMode::kReplay};
  try {
    measure_on(device, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kFailed);
    EXPECT_THAT(e.what(), HasSubstr("capture failed: reasons"));
    EXPECT_THAT(e.what(), HasSubstr("--mode"));
  }
}

}  // namespace
}  // namespace ampere
