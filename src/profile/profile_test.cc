#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "model/cost_polynomial.h"
#include "model/device_profile.h"
#include "model/nnls.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"
#include "store/store.h"

namespace ampere {
namespace {

using testing::HasSubstr;

class TemporaryFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "ampere_" + test->test_suite_name() + "_" + test->name() + ".db";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
};

TEST(CostPolynomial, EqualsTheExactCost) {
  for (const ZooEntry& entry : zoo()) {
    for (const LayerGroup& g : group_layers(parse_layers(build(parse_zoo(entry.name)), 3))) {
      for (const bool input_grad : {false, true}) {
        const CostPolynomial polynomial(g.layer.kind, input_grad);
        const Cost exact = network_cost(build_layer(g.layer.kind, g.layer.channels), 3, input_grad);
        EXPECT_NEAR(polynomial.flops(g.layer.channels) / std::max(1.0, exact.flops()),
                    exact.flops() > 0 ? 1 : 0, 1e-9)
            << g.layer.key();
        EXPECT_NEAR(polynomial.bytes(g.layer.channels) / exact.bytes(), 1, 1e-9) << g.layer.key();
      }
    }
  }
}

TEST(Nnls, FindsTheConstrainedMinimum) {
  Eigen::MatrixXd a(4, 2);
  a << 1, 1, 1, 2, 1, 3, 1, 4;
  const Eigen::VectorXd exact = nonnegative_least_squares(a, Eigen::Vector4d(3, 5, 7, 9));
  EXPECT_NEAR(exact(0), 1, 1e-9);
  EXPECT_NEAR(exact(1), 2, 1e-9);
  const Eigen::VectorXd bounded =
      nonnegative_least_squares(a, Eigen::Vector4d(-1, 1, 3, 5));  // slope 2, intercept -3
  EXPECT_EQ(bounded(0), 0);
  EXPECT_GT(bounded(1), 0);
}

class RunTest : public TemporaryFile {
 protected:
  ProfileSummary run(Measure measure) {
    Store store(path_);
    DeviceProfile profile(store, store.add_device({{"name", "synthetic"}}), "sgd");
    return run_profile(profile, split_plans(parse_layers(build(parse_zoo("lenet5")), 10)), measure, {});
  }
};

TEST_F(RunTest, SecondRunMeasuresNothing) {
  SyntheticDevice device;
  const ProfileSummary first = run([&](const MeasureRequest& r) { return device(r); });
  EXPECT_GT(first.measured, 10);
  const ProfileSummary second = run([&](const MeasureRequest& r) { return device(r); });
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(second.reused + 1, first.measured);  // the empty iteration is no surface
}

TEST_F(RunTest, ABrokenRunGoesOnWhereItWas) {
  SyntheticDevice whole;
  const int all = run([&](const MeasureRequest& r) { return whole(r); }).measured;
  for (int dies_after : {0, 1, 3, 8}) {
    std::filesystem::remove(path_);
    SyntheticDevice device;
    device.before = [&](const MeasureRequest&) {
      if (device.measured == dies_after) throw Error(ErrorKind::kWorker, "the worker died");
    };
    EXPECT_THROW(run([&](const MeasureRequest& r) { return device(r); }), Error);
    EXPECT_EQ(device.measured, dies_after);
    device.before = nullptr;
    EXPECT_EQ(run([&](const MeasureRequest& r) { return device(r); }).measured, all - dies_after);
  }
}

TEST_F(RunTest, PointsThatDoNotFitTheDeviceAreLeftOut) {
  SyntheticDevice device;
  device.before = [&](const MeasureRequest& r) {
    if (network_cost(r.network, r.batch).parameters > 20000)
      throw Error(ErrorKind::kOutOfMemory, "too large");
  };
  const ProfileSummary summary = run([&](const MeasureRequest& r) { return device(r); });
  int refused = 0;
  for (const SurfaceSummary& s : summary.surfaces) refused += s.refused;
  EXPECT_GT(refused, 0);
}

TEST_F(RunTest, AWorkerThatDiesNowAndThenDoesNotEndTheRun) {
  SyntheticDevice device;
  int calls = 0;
  device.before = [&](const MeasureRequest& r) {
    if (++calls % 5 == 0) throw Error(ErrorKind::kWorker, "the worker died");  // once: tried again
    if (r.network.name().find("linear10") != std::string::npos &&
        network_cost(r.network, r.batch).parameters > 800) {
      throw Error(ErrorKind::kWorker, "the worker dies of this one");  // always: left out
    }
  };
  const ProfileSummary summary = run([&](const MeasureRequest& r) { return device(r); });
  EXPECT_EQ(summary.surfaces.size(), 4u);
  EXPECT_GT(summary.surfaces.back().refused, 0);
}

TEST_F(RunTest, PaperPlansRunToo) {
  Store store(path_);
  DeviceProfile profile(store, store.add_device({{"name", "synthetic"}}), "sgd");
  SyntheticDevice device;
  const auto plans = paper_plans(parse_layers(build(parse_zoo("lenet5")), 10));
  ProfileOptions options;
  options.where.guided.all_corners = false;
  run_profile(
      profile, plans, [&](const MeasureRequest& r) { return device(r); }, options);
  const LayerModels models(profile, plans);
  for (const SurfacePlan& p : plans) EXPECT_TRUE(models.has(p.key)) << p.key;
}

}  // namespace
}  // namespace ampere
