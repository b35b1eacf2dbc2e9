#include "estimate/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "estimate/check.h"
#include "estimate/composition.h"
#include "estimate/networks_for_test.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"

namespace ampere {
namespace {

class EstimateTest : public testing::Test {
 protected:
  EstimateTest()
      : path_(file()), store_(path_), profile_(store_, store_.add_device({{"name", "synthetic"}}), "sgd") {}
  ~EstimateTest() override { std::filesystem::remove(path_); }

  static std::string file() {
    const std::string path = testing::TempDir() + "ampere_estimate_test.db";
    std::filesystem::remove(path);
    return path;
  }
  Measure measure() {
    return [this](const MeasureRequest& r) { return device_(r); };
  }
  void profile(const std::string& model, const char* method = "split") {
    const auto layers = parse_layers(build(parse_zoo(model)), 4);
    run_profile(profile_, find_method(method).plans(layers), measure(), {});
  }
  double truth_j(const Network& network) {
    MeasureRequest request;
    request.network = network;
    request.batch = 4;
    return *device_(request).energy_j;
  }

  std::string path_;
  Store store_;
  DeviceProfile profile_;
  SyntheticDevice device_;
};

TEST_F(EstimateTest, ANoiselessAdditiveDeviceIsRecovered) {
  for (const char* model : {"lenet5", "cnn5", "har", "lstm", "transformer", "resnet18-cifar"}) {
    profile(model);
    for (const Network& network : some_networks(model, 10)) {
      const Estimate e = find_method("split").estimate(profile_, parse_layers(network, 4));
      EXPECT_NEAR(e.energy_j.value / truth_j(network), 1, 1e-6) << network.name();
      EXPECT_LT(e.energy_j.high / e.energy_j.low, 1.2) << network.name();
    }
  }
}

TEST_F(EstimateTest, IsTheSumOfItsLayers) {
  profile("cnn5");
  const Estimate e = find_method("split").estimate(profile_, parse_layers(build(parse_zoo("cnn5:c2=20")), 4));
  double sum = e.fixed_energy_j;
  for (const LayerEstimate& l : e.layers) sum += l.energy_j.value;
  EXPECT_NEAR(sum / e.energy_j.value, 1, 1e-12);
  EXPECT_EQ(e.layers.size(), 5u);
}

TEST_F(EstimateTest, PaperSubtractsItsNeighbours) {
  profile("cnn5", "paper");
  const Network network = build(parse_zoo("cnn5"));
  const Estimate e = estimate_network(profile_, find_method("paper"), network, 4);
  EXPECT_NEAR(e.energy_j.value / truth_j(network), 1, 0.25);
}

TEST_F(EstimateTest, EveryMissingKindIsListed) {
  profile("lenet5");
  try {
    estimate_network(profile_, find_method("split"), build(parse_zoo("cnn5")), 4);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNotProfiled);
    for (const char* kind : {"conv3x3p1-relu-maxpool2x2@1x28x28b4", "@14x14b4", "@7x7b4", "@3x3b4"}) {
      EXPECT_THAT(e.what(), testing::HasSubstr(kind));
    }
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("linear10")));  // shared with lenet5
  }
}

TEST_F(EstimateTest, ExtrapolationIsMarked) {
  profile("lenet5");
  const Estimate e = estimate_network(profile_, find_method("split"), build(parse_zoo("lenet5:c2=64")), 4);
  EXPECT_TRUE(e.layers[1].extrapolated);
  EXPECT_FALSE(e.layers[0].extrapolated);
}

TEST_F(EstimateTest, HostTimeAndIdlePowerCountWhenTheDeviceWaits) {
  auto with_host = [this](const MeasureRequest& r) {
    Measurement m = device_(r);
    m.host_s = 1e-3;  // every probe and the empty iteration alike: layers add nothing
    return m;
  };
  const auto layers = parse_layers(build(parse_zoo("lenet5")), 4);
  run_profile(profile_, split_plans(layers), with_host, {});
  profile_.set_idle_power_w(50, true);
  const Estimate e = find_method("split").estimate(profile_, layers);
  EXPECT_EQ(e.regime, Regime::kHost);
  const double device_s =
      (e.energy_j.value - 50 * (e.time_s.value - truth_j(build(parse_zoo("lenet5"))) / device_.watts)) /
      device_.watts;
  EXPECT_NEAR(device_s * device_.watts / truth_j(build(parse_zoo("lenet5"))), 1, 1e-6);
}

TEST_F(EstimateTest, WholeNetworksTeachTheBias) {
  profile("lenet5");
  auto dearer = [this](const MeasureRequest& r) {
    Measurement m = device_(r);
    *m.energy_j *= 1.10;
    return m;
  };
  ProfileOptions options;
  check_composition(profile_, find_method("split"), some_networks("lenet5", 6), 4, dearer, options, nullptr);
  const Network network = build(parse_zoo("lenet5:c1=3"));
  const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
  EXPECT_NEAR(e.energy_j.value / (1.10 * truth_j(network)), 1, 0.01);
  double sum = e.fixed_energy_j;
  for (const LayerEstimate& l : e.layers) sum += l.energy_j.value;
  EXPECT_NEAR(sum / e.energy_j.value, 1, 1e-9) << "layers no longer add up to the whole";
  EXPECT_LT(e.energy_j.low, 1.10 * truth_j(network));
  EXPECT_GT(e.energy_j.high, 1.10 * truth_j(network));
}

TEST(Composition, FewChecksWidenTheInterval) {
  const CompositionError none = learn_composition({});
  const CompositionError two = learn_composition({{1.0, 1.0}, {1.02, 1.0}});
  const CompositionError many = learn_composition(std::vector<WholeCheck>(20, {1.0, 1.0}));
  EXPECT_GT(none.deviation, two.deviation);
  EXPECT_GT(two.deviation, many.deviation);
  EXPECT_EQ(many.log_bias, 0);
}

TEST(Interval, IsAroundTheMeanAndPositive) {
  const Interval narrow = interval_of(10, 0.1);
  EXPECT_NEAR(narrow.low, 10 - 0.196, 0.01);
  const Interval wide = interval_of(1, 5);
  EXPECT_GT(wide.low, 0);
  EXPECT_EQ((narrow * 3).value, 30);
}

}  // namespace
}  // namespace ampere
