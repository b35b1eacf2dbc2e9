#include "evaluate/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "evaluate/sample.h"
#include "network/cost.h"
#include "network/zoo.h"
#include "profile/synthetic_device_for_test.h"

namespace ampere {
namespace {

TEST(Sample, DrawsBetweenOneAndTheOriginalAndIsRepeatable) {
  const ZooChoice original = parse_zoo("lenet5");
  const auto first = sample_networks(original, 50, 3);
  const auto again = sample_networks(original, 50, 3);
  ASSERT_EQ(first.size(), 50u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].values, again[i].values);
    EXPECT_EQ(first[i].values.at("classes"), 10);
    for (const ZooParameter& p : original.entry->parameters) {
      EXPECT_GE(first[i].values.at(p.name), p.min);
      EXPECT_LE(first[i].values.at(p.name), p.value);
    }
  }
  EXPECT_NE(sample_networks(original, 1, 4)[0].values, first[0].values);
}

TEST(Sample, EveryFamilyGivesValidNetworks) {
  for (const ZooEntry& entry : zoo()) {
    for (const ZooChoice& choice : sample_networks(parse_zoo(entry.name), 5, 1)) {
      EXPECT_NO_THROW(parse_layers(build(choice), 2)) << to_text(choice);
    }
  }
}

TEST(Sample, EndsWhenTheFamilyHasNoMore) {
  EXPECT_LE(sample_networks(parse_zoo("lenet5:c1=1,c2=1,f1=1,f2=2"), 50, 1).size(), 2u);
}

TEST(Sample, BySizeReachesFromSmallToLarge) {
  const ZooChoice original = parse_zoo("resnet18-cifar");
  const auto flops = [](const ZooChoice& c) { return network_cost(build(c), 1).flops(); };
  std::vector<double> all;
  for (const ZooChoice& c : sample_networks(original, 64, 7)) all.push_back(flops(c));
  std::sort(all.begin(), all.end());
  const auto five = networks_by_size(original, 5, 7);
  ASSERT_EQ(five.size(), 5u);
  for (std::size_t i = 1; i < five.size(); ++i) EXPECT_GT(flops(five[i]), flops(five[i - 1]));
  EXPECT_LT(flops(five.front()), all[6]);
  EXPECT_GT(flops(five.back()), all[51]);

  EXPECT_LE(networks_by_size(parse_zoo("lenet5:c1=1,c2=1,f1=1,f2=2"), 5, 1).size(), 2u);
  EXPECT_TRUE(networks_by_size(original, 0, 1).empty());
}

TEST(Judge, FiguresAreThoseOfTheErrors) {
  std::vector<TruthPoint> truth(4);
  for (TruthPoint& t : truth) t.energy_j = 100, t.time_s = 1;
  const MethodResult r = judge("x",
                               {{110, Interval{110, 90, 130}, 1.5, 0},
                                {90, Interval{90, 80, 95}, 0.5, 0},
                                {100, {}, 1, 0},
                                {120, {}, 1, 0}},
                               truth);
  EXPECT_NEAR(r.mape, 0.10, 1e-12);
  EXPECT_NEAR(r.median, 0.10, 1e-12);
  EXPECT_NEAR(r.bias, 0.05, 1e-12);
  EXPECT_NEAR(r.time_mape, 0.25, 1e-12);
  EXPECT_EQ(r.coverage, 0.5);
}

TEST(Baselines, FitWhatTheyCanExpress) {
  std::vector<TruthPoint> truth;
  for (int i = 1; i <= 6; ++i) {
    TruthPoint t;
    t.flops = 1e6 * i;
    t.bytes = 1e5 * (i % 3 + 1);
    t.energy_j = 0.5 + 2e-6 * t.flops + 3e-6 * t.bytes;
    truth.push_back(t);
  }
  const auto results = baselines(truth);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_NEAR(results[2].mape, 0, 1e-9);
  EXPECT_GT(results[0].mape, results[1].mape);
  EXPECT_GT(results[1].mape, 0.001);
}

TEST(Evaluate, WholePathOnASyntheticDeviceResumes) {
  const std::string path = testing::TempDir() + "ampere_evaluate_test.db";
  std::filesystem::remove(path);
  Store store(path);
  DeviceProfile profile(store, store.add_device({{"name", "synthetic"}}), "sgd");
  SyntheticDevice device;
  const Measure measure = [&](const MeasureRequest& r) { return device(r); };
  const auto layers = parse_layers(build(parse_zoo("lenet5")), 4);
  for (const char* method : {"split", "paper"})
    run_profile(profile, find_method(method).plans(layers), measure, {});
  std::vector<Network> networks;
  for (const ZooChoice& c : sample_networks(parse_zoo("lenet5"), 8, 1)) networks.push_back(build(c));
  const Evaluation e = evaluate(profile, networks, 4, measure, {});
  EXPECT_LT(e.methods[0].mape, 1e-6);
  EXPECT_EQ(e.methods[0].coverage, 1.0);
  EXPECT_EQ(e.noise_floor, 0);
  EXPECT_EQ(e.methods.size(), 5u);

  const int before = device.measured;
  evaluate(profile, networks, 4, measure, {});
  EXPECT_EQ(device.measured, before) << "networks were trained again";

  const std::string csv = to_csv(e);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 8 * 5);
  const Json json = to_json(e);
  for (const char* name : {"split", "paper", "flops", "flops-affine", "flops-bytes"}) {
    EXPECT_TRUE(json["methods"][name]["mape"].is_number()) << name;
  }
  EXPECT_EQ(json["networks"].size(), 8u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ampere
