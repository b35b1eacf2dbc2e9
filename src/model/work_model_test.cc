#include "model/work_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/statistics.h"

namespace ampere {
namespace {

OpWork product(double rows, double columns, double depth) {
  OpWork w;
  w.family = OpFamily::kProduct;
  w.name = "single";
  w.rows = rows;
  w.columns = columns;
  w.depth = depth;
  w.flops = 2 * rows * columns * depth;
  w.bytes = 4 * (rows * columns + rows * depth + columns * depth);
  return w;
}

OpWork pointwise(double elements) {
  OpWork w;
  w.name = "plain";
  w.rows = w.flops = elements;
  w.bytes = 8 * elements;
  return w;
}

// A device that computes products at a rate that grows with their depth, and moves everything else.
double seconds(const OpWork& w) {
  if (w.family == OpFamily::kProduct) return 3e-6 + w.flops / (30e12 * (1 - std::exp(-w.depth / 200)));
  return 2e-6 + w.bytes / 3e12;
}
double watts(const OpWork& w) { return w.family == OpFamily::kProduct ? 500 : 300; }

class WorkModelTest : public testing::Test {
 protected:
  double size(double low, double high) {
    return std::round(
        std::exp2(std::uniform_real_distribution<double>(std::log2(low), std::log2(high))(random_)));
  }
  std::vector<CountedWork> part() {
    const double rows = size(64, 8192);
    return {{product(rows, size(32, 2048), size(32, 2048)), 1}, {pointwise(rows * size(32, 2048)), 2}};
  }
  static double time_of(const std::vector<CountedWork>& works) {
    double sum = 0;
    for (const CountedWork& w : works) sum += w.count * seconds(w.work);
    return sum;
  }
  static double energy_of(const std::vector<CountedWork>& works) {
    double sum = 0;
    for (const CountedWork& w : works) sum += w.count * seconds(w.work) * watts(w.work);
    return sum;
  }
  MeasuredWork measured(const std::string& place, const std::vector<CountedWork>& works) {
    const double noise = std::exp(0.01 * std::normal_distribution<double>()(random_));
    return {place, works, time_of(works) * noise, 0.01, energy_of(works) * noise, 0.02, 1e-5};
  }
  std::mt19937 random_{7};
};

TEST_F(WorkModelTest, TellsPartsThatNobodyMeasured) {
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 150; ++i) seen.push_back(measured("part " + std::to_string(i), part()));
  const WorkModel model(seen, true);
  std::vector<double> time_errors, energy_errors;
  int held = 0;
  for (int i = 0; i < 40; ++i) {
    std::vector<AskedWork> network;
    double time_s = 0, energy_j = 0;
    for (int k = 0; k < 8; ++k) {
      network.push_back({"", part()});
      time_s += time_of(network.back().works);
      energy_j += energy_of(network.back().works);
    }
    const WorkCosts costs = model.at(network);
    time_errors.push_back(std::abs(costs.time_s.sum() / time_s - 1));
    energy_errors.push_back(std::abs(costs.energy_j.sum() / energy_j - 1));
    const Eigen::VectorXd shares = costs.energy_j / costs.energy_j.sum();
    const double deviation = std::sqrt(shares.dot(costs.energy_covariance * shares));
    held += std::abs(std::log(costs.energy_j.sum() / energy_j)) < kZ95 * deviation;
  }
  EXPECT_LT(median(time_errors), 0.05);
  EXPECT_LT(median(energy_errors), 0.05);
  EXPECT_GE(held, 36);
}

TEST_F(WorkModelTest, WhatWasMeasuredIsKnown) {
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(measured("part " + std::to_string(i), part()));
  seen[3].time_s *= 1.5;  // something that its calls do not tell
  *seen[3].energy_j *= 1.5;
  const WorkModel model(seen, true);
  const WorkCosts known = model.at({{"part 3", seen[3].works}}), unknown = model.at({{"", part()}});
  EXPECT_NEAR(known.time_s(0) / seen[3].time_s, 1, 0.15);
  EXPECT_LT(known.time_covariance(0, 0), unknown.time_covariance(0, 0));
}

// Which of two kernels runs, its sizes do not tell: one takes twice as long, and draws half as much.
TEST_F(WorkModelTest, OneAbsurdErrorDoesNotRuleTheOthers) {
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 60; ++i) seen.push_back(measured("part " + std::to_string(i), part()));
  const double before = WorkModel(seen, true).at({{"x", seen[5].works}}).time_s(0);
  seen[7].time_error = seen[7].energy_error = 1e6;
  EXPECT_NEAR(WorkModel(seen, true).at({{"x", seen[5].works}}).time_s(0), before, 0.1 * before);
}

TEST_F(WorkModelTest, PowersGoByTimesThatAreKnown) {
  const auto metered = [&](bool slow) {
    MeasuredWork m = measured("", part());
    m.time_s *= slow ? 2 : 1;
    return m;
  };
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 80; ++i) {
    seen.push_back(metered(i % 2 == 0));
    seen.back().place = std::to_string(i);
  }
  const WorkModel model(seen, true);
  std::vector<double> known, unknown;
  for (int i = 0; i < 40; ++i) {
    const MeasuredWork truth = metered(i % 2 == 0);
    const double watts = *truth.energy_j / truth.time_s;
    known.push_back(std::abs(std::log(model.believed({{"", truth.works, truth.time_s}}).power_w(0) / watts)));
    unknown.push_back(std::abs(std::log(model.believed({{"", truth.works}}).power_w(0) / watts)));
  }
  EXPECT_LT(median(known), 0.1);
  EXPECT_GT(median(unknown), 2 * median(known));
}

TEST_F(WorkModelTest, FarAwayIsUnsure) {
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 50; ++i) seen.push_back(measured("part " + std::to_string(i), part()));
  const WorkModel model(seen, true);
  OpWork other;
  other.family = OpFamily::kRecurrent;
  other.name = "lstm";
  other.flops = 1e9;
  other.bytes = 1e7;
  const WorkCosts near = model.at({{"", part()}}), far = model.at({{"", {{other, 1}}}});
  EXPECT_GT(far.time_covariance(0, 0), 3 * near.time_covariance(0, 0));
  EXPECT_TRUE(std::isfinite(far.energy_j(0)) && far.energy_j(0) > 0);
}

TEST_F(WorkModelTest, LearnsTheRoof) {
  std::vector<TimedWork> seen;
  for (int i = 0; i < 100; ++i) {
    const std::vector<CountedWork> works = part();
    seen.push_back({works, time_of(works) / 50});
  }
  const Roof roof = fitted_roof(believed_roof(true), seen);
  EXPECT_GT(roof.flops_per_s[0], 5 * believed_roof(true).flops_per_s[0]);
}

DataSheet sheet_of_test_device() {
  return data_sheet_from({{"name", "test"},
                          {"float32_flops_per_s", 40e12},
                          {"bytes_per_s", 4e12},
                          {"idle_w", 100},
                          {"limit_w", 700},
                          {"source", "this test"}},
                         "sheet");
}

TEST_F(WorkModelTest, ASheetTellsWithoutMeasurements) {
  const WorkModel model({}, sheet_of_test_device());
  EXPECT_EQ(model.size(), 0U);
  int held = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<CountedWork> works = part();
    const WorkCosts costs = model.at({{"", works}});
    const double deviation = std::sqrt(std::log1p(costs.energy_covariance(0, 0)));
    EXPECT_GT(deviation, 0.4);
    held += std::abs(std::log(costs.energy_j(0) / energy_of(works))) < kZ95 * deviation;
  }
  EXPECT_GE(held, 36);
  EXPECT_GT(model.host_s(part()), 0);
  EXPECT_EQ(model.at({{"", {}}}).energy_j(0), 0);
}

TEST_F(WorkModelTest, MeasurementsNarrowWhatASheetTells) {
  std::vector<MeasuredWork> seen;
  const std::vector<CountedWork> asked = part();
  double before = 1e9;
  for (const std::size_t count : {0U, 3U, 30U}) {
    while (seen.size() < count) seen.push_back(measured("part " + std::to_string(seen.size()), part()));
    const WorkCosts costs = WorkModel(seen, sheet_of_test_device()).at({{"", asked}});
    EXPECT_LT(costs.energy_covariance(0, 0), before) << count;
    before = costs.energy_covariance(0, 0);
    EXPECT_LT(std::abs(std::log(costs.energy_j(0) / energy_of(asked))), count < 30 ? 1.5 : 0.4);
  }
  // Times alone are enough: powers are the sheet's then.
  for (MeasuredWork& m : seen) m.energy_j.reset();
  EXPECT_GT(WorkModel(seen, sheet_of_test_device()).at({{"", asked}}).energy_j(0), 0);
}

TEST_F(WorkModelTest, RelativesNarrowWhatASheetTells) {
  std::vector<MeasuredWork> seen;
  for (int i = 0; i < 30; ++i) {
    seen.push_back(measured("part " + std::to_string(i), part()));
    seen.back().where = Where::kElsewhere;
  }
  const std::vector<CountedWork> asked = part();
  const auto told = [&](const Relation& relation) {
    return WorkModel(seen, sheet_of_test_device(), relation).at({{"", asked}});
  };
  const WorkCosts sheet = WorkModel({}, sheet_of_test_device()).at({{"", asked}});
  const WorkCosts sister = told(sister_card()), far = told({{1, 0.5, 0.5}, {1, 0.5, 0.5}});
  EXPECT_LT(sister.energy_covariance(0, 0), 0.5 * sheet.energy_covariance(0, 0));
  EXPECT_LT(std::abs(std::log(sister.energy_j(0) / energy_of(asked))), 0.4);
  EXPECT_GT(far.energy_covariance(0, 0), 1.2 * sister.energy_covariance(0, 0));
}

TEST_F(WorkModelTest, RefusesWithoutMeasurements) {
  EXPECT_THROW(WorkModel({}, true).at({{"", part()}}), Error);
  MeasuredWork timed = measured("one", part());
  timed.energy_j.reset();
  EXPECT_THROW(WorkModel({timed}, true).at({{"", part()}}), Error);
}

}  // namespace
}  // namespace ampere
