#include "estimate/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "estimate/networks_for_test.h"
#include "model/composition.h"
#include "model/sum.h"
#include "network/zoo.h"
#include "profile/device_run.h"
#include "profile/probe.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"
#include "profile/whole_networks.h"

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
  // Sums of layers alone, without what whole networks teach.
  Estimate split_of(const Network& network) {
    const std::vector<Layer> layers = parse_layers(network, 4);
    const Method& method = find_method("split");
    return method.estimate(models_for(profile_, method, layers), layers, "any", MeasureMode::kEager);
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
      const Estimate e = split_of(network);
      EXPECT_NEAR(e.energy_j.value / truth_j(network), 1, 1e-6) << network.name();
      EXPECT_LT(e.energy_j.high / e.energy_j.low, 1.2) << network.name();
    }
  }
}

TEST_F(EstimateTest, IsTheSumOfItsLayers) {
  profile("cnn5");
  const Estimate e = split_of(build(parse_zoo("cnn5:c2=20")));
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
  const auto missing = [&](const char* method) -> std::string {
    try {
      estimate_network(profile_, find_method(method), build(parse_zoo("cnn5")), 4);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kNotProfiled);
      return e.what();
    }
    return "";
  };
  for (const char* kind : {"conv3x3p1-relu-maxpool2x2@1x28x28b4", "@14x14b4", "@7x7b4", "@3x3b4", "linear10"})
    EXPECT_THAT(missing("split"), testing::HasSubstr(kind));
  profile("lenet5", "paper");  // the published method knows of no other layers
  EXPECT_THAT(missing("paper"), testing::HasSubstr("@14x14b4"));
  EXPECT_THAT(missing("paper"), testing::Not(testing::HasSubstr("output/linear10")));  // shared with lenet5
}

TEST_F(EstimateTest, KindsThatNobodyMeasuredAreToldByOthers) {
  profile("lenet5");
  const Network other = build(parse_zoo("cnn5"));
  const Estimate e = estimate_network(profile_, find_method("split"), other, 4);
  EXPECT_GT(e.unmeasured, 0.5);
  EXPECT_LT(e.unmeasured, 1) << "its last layer is one of lenet5's";
  EXPECT_TRUE(e.modelled);
  EXPECT_LT(e.energy_j.low, truth_j(other));
  EXPECT_GT(e.energy_j.high, truth_j(other));
  EXPECT_FALSE(e.layers.front().measured);
  EXPECT_FALSE(e.layers.front().extrapolated);
  EXPECT_TRUE(e.layers.back().measured);
  ASSERT_TRUE(e.gain);
  EXPECT_EQ(e.gain->layers, 4);
  EXPECT_GT(e.gain->seconds, 0);
  EXPECT_LT(e.gain->energy_j.high / e.gain->energy_j.low, 0.5 * e.energy_j.high / e.energy_j.low);

  // Measuring them keeps what it promises.
  probe_layers(profile_, parse_layers(other, 4), measure(), {});
  const Estimate exact = estimate_network(profile_, find_method("split"), other, 4);
  EXPECT_EQ(exact.unmeasured, 0);
  EXPECT_FALSE(exact.gain);
  EXPECT_NEAR(exact.energy_j.value / truth_j(other), 1, 0.01);
  EXPECT_LT(exact.energy_j.high / exact.energy_j.low, 1.2 * e.gain->energy_j.high / e.gain->energy_j.low);
}

TEST_F(EstimateTest, OneMeasuredPlaceIsNoSurface) {
  profile("lenet5");
  probe_layers(profile_, parse_layers(build(parse_zoo("cnn5:c2=8")), 4), measure(), {});
  const Estimate e = estimate_network(profile_, find_method("split"), build(parse_zoo("cnn5")), 4);
  for (const LayerEstimate& l : e.layers)
    EXPECT_EQ(l.measured, l.name != "conv2" && l.name != "conv3") << l.name;
}

TEST_F(EstimateTest, OptimizersShareWhatIsKnownOfCallsAndPrecisionsDoNot) {
  profile("lenet5");
  const Network other = build(parse_zoo("cnn5"));
  const std::string device = profile_.device();
  const auto unmeasured = [&](const char* recipe) {
    const DeviceProfile asked(store_, device, recipe);
    return estimate_network(asked, find_method("split"), other, 4).unmeasured;
  };
  DeviceProfile plain(store_, device, "sgd-fp32-t1");
  run_profile(plain, split_plans(parse_layers(build(parse_zoo("lenet5")), 4)), measure(), {});
  EXPECT_GT(unmeasured("sgd-fp32-t1"), 0);
  EXPECT_EQ(unmeasured("adam-fp32-t1"), 1);
  EXPECT_THROW(unmeasured("sgd-bf16-t1"), Error);
  EXPECT_THROW(unmeasured("sgd-fp32-t2"), Error);
}

TEST_F(EstimateTest, ExtrapolationIsMarked) {
  profile("lenet5");
  const Estimate e = estimate_network(profile_, find_method("split"), build(parse_zoo("lenet5:c2=64")), 4);
  EXPECT_TRUE(e.layers[1].extrapolated);
  EXPECT_FALSE(e.layers[0].extrapolated);
}

TEST_F(EstimateTest, IntervalsWidenWithTheDistanceOfAnExtrapolation) {
  profile("lenet5");
  double before = 0;
  for (const char* model : {"lenet5", "lenet5:c1=12,c2=32,f1=240", "lenet5:c1=60,c2=160,f1=1200",
                            "lenet5:c1=600,c2=1600,f1=12000"}) {
    const Interval e = estimate_network(profile_, find_method("split"), build(parse_zoo(model)), 4).energy_j;
    EXPECT_GT(e.high / e.value, 1.1 * before) << model;
    before = e.high / e.value;
  }
  EXPECT_GT(before, 2) << "a hundred times the channels is a guess";
}

// The device itself was profiled, and none of these networks.
TEST_F(EstimateTest, NetworksThatNobodyMeasuredBecomeKnown) {
  const auto profile_layers = [&](int count) {
    struct Enough {};
    DeviceRunOptions options;
    options.seconds = 3600;
    options.progress = [&](const DeviceSummary& so_far, double, const std::string&) {
      if (so_far.measured >= count) throw Enough{};
    };
    try {
      measure_device(profile_, measure(), options);
    } catch (const Enough&) {
    }
  };
  const auto width = [&] {
    double widest = 0;
    for (const char* model : {"cnn5", "har", "resnet18-cifar"}) {
      const Network network = build(parse_zoo(model));
      const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
      EXPECT_GT(e.unmeasured, 0.9) << model;
      EXPECT_LT(e.energy_j.low, truth_j(network)) << model;
      EXPECT_GT(e.energy_j.high, truth_j(network)) << model;
      widest = std::max(widest, e.energy_j.high / e.energy_j.low);
    }
    return widest;
  };
  profile_layers(8);
  const double early = width();
  profile_layers(60);
  EXPECT_LT(width(), 0.8 * early);
}

// Profiles as an accelerator is profiled: with few energies, whole networks besides.
class AcceleratorTest : public EstimateTest {
 protected:
  AcceleratorTest() { device_.accelerator = true; }

  ProfileOptions options() const {
    ProfileOptions o;
    o.how.mode = MeasureMode::kReplay;
    o.where.guided.max_points_2d = 30;
    o.where.energy_points_2d = 8;
    return o;
  }
  void profile_accelerator(const std::string& model) {
    const Measure measure = [this](const MeasureRequest& r) { return device_(r); };
    profile_.set_idle_power_w(device_.idle_w, true);
    ProfileOptions o = options();
    for (const Network& network : some_networks(model, 6)) {
      for (const Layer& layer : parse_layers(network, 4)) o.where.layers.push_back(layer);
    }
    run_profile(profile_, split_plans(parse_layers(build(parse_zoo(model)), 4)), measure, o);
    WholeNetworkOptions checks;
    checks.replay.mode = MeasureMode::kReplay;
    checks.passes = 2;
    WholeNetworks check(profile_, "split", some_networks(model, 6), 4, measure, checks);
    while (check.measure_next()) {
    }
    check.learn();
  }
  double true_j(const Network& network) {
    MeasureRequest request;
    request.network = network;
    request.batch = 4;
    return *device_(request).energy_j;
  }
};

TEST_F(AcceleratorTest, HostTimeAndIdlePowerCountWhenTheDeviceWaits) {
  profile_accelerator("lenet5");
  const Network network = build(parse_zoo("lenet5:c1=3,f1=70"));
  const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
  EXPECT_EQ(e.regime, Regime::kHost);
  EXPECT_NEAR(e.energy_j.value / true_j(network), 1, 0.005);
}

TEST_F(AcceleratorTest, ABusyDeviceIsNotSlowedByItsHost) {
  device_.host_per_layer_s = 1e-6;
  device_.host_fixed_s = 1e-6;
  profile_accelerator("cnn5");
  const Network network = build(parse_zoo("cnn5:c2=40,c4=77"));
  const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
  EXPECT_EQ(e.regime, Regime::kDevice);
  EXPECT_NEAR(e.energy_j.value / true_j(network), 1, 0.005);
}

TEST_F(AcceleratorTest, EnergyIsMeasuredAtFewerPointsThanTime) {
  device_.rough = 1.4;
  profile_accelerator("cnn5");
  int points = 0, with_energy = 0;
  for (const SurfacePlan& plan : split_plans(parse_layers(build(parse_zoo("cnn5")), 4))) {
    for (const StoredPoint& p : profile_.points(plan.key)) {
      ++points;
      if (p.measurement.energy_j) ++with_energy;
    }
  }
  EXPECT_GT(points, with_energy);
  EXPECT_GT(with_energy, 0);
}

TEST_F(AcceleratorTest, ProbesTellWhatNoSmoothSurfaceCan) {
  device_.rough = 1.6;
  device_.host_per_layer_s = 1e-6;
  profile_accelerator("cnn5");
  const Measure measure = [this](const MeasureRequest& r) { return device_(r); };
  double before = 0, after = 0;
  std::vector<Network> others = some_networks("cnn5", 11);
  others.erase(others.begin(), others.begin() + 6);  // these were profiled layer by layer
  for (const Network& network : others) {
    before += std::abs(
        estimate_network(profile_, find_method("split"), network, 4).energy_j.value / true_j(network) - 1);
    ProbeOptions probing;
    probing.how = options().how;
    const auto layers = parse_layers(network, 4);
    const ProbeSummary summary = probe_layers(profile_, layers, measure, probing);
    EXPECT_EQ(summary.layers, 5);
    for (const SurfacePlan& plan : split_plans(layers)) {
      for (const StoredPoint& p : profile_.points(probe_of(plan.surface).name))
        EXPECT_TRUE(p.measurement.energy_j);
    }
    const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
    after += std::abs(e.energy_j.value / true_j(network) - 1);
    EXPECT_EQ(probe_layers(profile_, layers, measure, probing).measured, 0) << "probes were not kept";
    EXPECT_NE(estimate_network(profile_, find_method("split"), network, 4, MeasureMode::kEager, Probes::kNone)
                  .energy_j.value,
              e.energy_j.value);
  }
  EXPECT_GT(before / 5, 0.05);
  EXPECT_LT(after / 5, 0.03);
}

TEST_F(AcceleratorTest, ProbesOfEarlierVersionsCountThoughTheyToldTimeAlone) {
  device_.rough = 1.6;
  device_.host_per_layer_s = 1e-6;
  profile_accelerator("cnn5");
  std::vector<Network> others = some_networks("cnn5", 11);
  double before = 0, after = 0;
  for (std::size_t i = 6; i < others.size(); ++i) {
    const auto off = [&] {
      const Estimate e = estimate_network(profile_, find_method("split"), others[i], 4);
      return std::abs(e.energy_j.value / true_j(others[i]) - 1);
    };
    before += off();
    for (const Layer& layer : parse_layers(others[i], 4)) {
      const SurfacePlan plan = split_plans({layer}).front();
      const MeasureRequest request =
          without_energy(request_for(plan.variant(layer.channels), plan.kind.batch, options().how));
      profile_.add_point(probe_of(plan.surface, Purpose::kTimedProbe), layer.channels, provenance(request),
                         device_(request));
    }
    after += off();
  }
  EXPECT_LT(after, 0.6 * before);
}

// An estimate follows from the store and the network: what else was estimated, in what order, in how many
// programs and by which method does not show in the last digit.
TEST_F(AcceleratorTest, WhatWasEstimatedBeforeDoesNotMatter) {
  device_.rough = 1.3;
  profile_accelerator("cnn5");
  profile_accelerator("lenet5");
  const Measure measure = [this](const MeasureRequest& r) { return device_(r); };
  const Method& stages = find_method("neuralpower");
  for (const char* model : {"cnn5", "lenet5"})
    run_profile(profile_, stages.plans(parse_layers(build(parse_zoo(model)), 4)), measure, {});
  ProbeOptions probing;
  probing.how = options().how;
  probe_layers(profile_, parse_layers(build(parse_zoo("cnn5:c1=7")), 4), measure, probing);

  struct Ask {
    Network network;
    const char* method;
    Probes probes;
  };
  std::vector<Ask> asks;
  for (const Network& network : some_networks("cnn5", 3)) asks.push_back({network, "split", Probes::kAll});
  for (const Network& network : some_networks("lenet5", 3)) asks.push_back({network, "split", Probes::kAll});
  asks.push_back({build(parse_zoo("cnn5:c1=7")), "split", Probes::kNone});
  asks.push_back({build(parse_zoo("cnn5:c1=7")), "split", Probes::kAll});
  asks.push_back({build(parse_zoo("cnn5:c1=7")), "neuralpower", Probes::kAll});
  const auto answer = [](const DeviceProfile& profile, const Ask& ask) {
    const Estimate e =
        estimate_network(profile, find_method(ask.method), ask.network, 4, MeasureMode::kEager, ask.probes);
    return std::vector<double>{e.energy_j.value, e.energy_j.low, e.energy_j.high, e.time_s.value};
  };
  std::vector<std::vector<double>> alone;
  for (const Ask& ask : asks) {
    Store store(path_);
    alone.push_back(answer(DeviceProfile(store, profile_.device(), profile_.recipe()), ask));
  }
  for (int order = 0; order < 4; ++order) {
    Store store(path_);
    const DeviceProfile profile(store, profile_.device(), profile_.recipe());
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const std::size_t at = order == 0   ? i
                             : order == 1 ? asks.size() - 1 - i
                                          : (i * 4 + static_cast<std::size_t>(order)) % asks.size();
      EXPECT_EQ(answer(profile, asks[at]), alone[at]) << "order " << order << ", " << asks[at].network.name();
    }
  }
  // Nor does it matter that the profile was the one that measured.
  for (std::size_t i = 0; i < asks.size(); ++i) EXPECT_EQ(answer(profile_, asks[i]), alone[i]);
}

TEST_F(AcceleratorTest, ExactProbesNeedNoProfile) {
  const Network network = build(parse_zoo("cnn5"));
  profile_.set_idle_power_w(device_.idle_w, true);
  ProbeOptions probing;
  probing.how = options().how;
  probing.all = true;
  probe_layers(
      profile_, parse_layers(network, 4), [this](const MeasureRequest& r) { return device_(r); }, probing);
  const Estimate e = estimate_network(profile_, find_method("split"), network, 4);
  EXPECT_NEAR(e.energy_j.value / true_j(network), 1, 0.01);
  EXPECT_GT(e.energy_j.high / e.energy_j.value, 1.05)
      << "no whole network was trained, so how sure can it be";
}

TEST_F(EstimateTest, StagesMeasuredApartOverestimate) {
  const auto layers = parse_layers(build(parse_zoo("lenet5")), 4);
  const Method& method = find_method("neuralpower");
  run_profile(profile_, method.plans(layers), [this](const MeasureRequest& r) { return device_(r); }, {});
  const Estimate e =
      method.estimate(models_for(profile_, method, layers), layers, "any", MeasureMode::kEager);
  // This device does a whole iteration for each stage.
  const double each = truth_j(build(parse_zoo("lenet5"))) + 4 * device_.fixed_s * device_.watts;
  EXPECT_NEAR(e.energy_j.value / (3 * each), 1, 1e-3);
}

TEST_F(EstimateTest, WholeNetworksTeachTheBias) {
  profile("lenet5");
  auto dearer = [this](const MeasureRequest& r) {
    Measurement m = device_(r);
    *m.energy_j *= 1.10;
    return m;
  };
  const WholeNetworkOptions options;
  WholeNetworks check(profile_, "split", some_networks("lenet5", 6), 4, dearer, options);
  while (check.measure_next()) {
  }
  check.learn();
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
  const CompositionError many = learn_composition(std::vector<WholeComparison>(20, {1.0, 1.0}));
  EXPECT_GT(none.deviation, two.deviation);
  EXPECT_GT(two.deviation, many.deviation);
  EXPECT_EQ(many.log_bias, 0);
}

TEST(Composition, TellsAFixedPartFromAFactor) {
  std::vector<WholeComparison> fixed, factor;
  for (const double sum : {2.8, 4.6, 4.9, 3.8, 6.0, 4.4}) {
    fixed.push_back({sum + 0.22, sum});
    factor.push_back({1.05 * sum, sum});
  }
  const CompositionError wait = learn_composition(fixed, kOfDevice);
  EXPECT_NEAR(wait.factor(2.0) * 2.0, 2.22, 0.03) << "smaller than any that was trained";
  EXPECT_NEAR(wait.factor(6.0) * 6.0, 6.22, 0.03);
  const CompositionError slow = learn_composition(factor, kOfDevice);
  EXPECT_NEAR(slow.factor(2.0), 1.05, 0.01);
  EXPECT_NEAR(slow.factor(8.0), 1.05, 0.01);
  for (const double by : {1.2, 1.3, 1.5}) {  // a large share that all have in common is still learned
    std::vector<WholeComparison> large;
    for (const double sum : {2.8, 4.6, 4.9, 3.8, 6.0, 4.4}) large.push_back({by * sum, sum});
    const CompositionError time = learn_composition(large, kOfDevice);
    EXPECT_NEAR(time.factor(4.0), by, 0.06 * by);
    EXPECT_GT(time.deviation, slow.deviation);
    EXPECT_NEAR(learn_composition(large, kOfDevice).factor(4.0), by, 0.06 * by);
  }
  EXPECT_LE(wait.factor(1e-9), 2) << "nothing is all waiting";
  // Sums that tell next to nothing of the wholes: that is learned, and what is kept of it can be read again.
  const CompositionError wild = learn_composition({{1, 0.001}, {0.5, 0.002}, {3, 0.001}}, kOfHost);
  EXPECT_GT(wild.factor(1), 2);
  EXPECT_LT(wild.deviation, 10);
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
