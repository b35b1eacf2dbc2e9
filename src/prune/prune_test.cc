#include "prune/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"
#include "prune/checked.h"
#include "prune/networks_for_test.h"

namespace ampere {
namespace {

constexpr std::int64_t kBatch = 4;

class PruneTest : public testing::Test {
 protected:
  PruneTest()
      : path_(file()),
        store_(path_),
        profile_(store_, store_.add_device({{"name", "synthetic"}}), "sgd-fp32-t1") {}
  ~PruneTest() override { std::filesystem::remove(path_); }

  static std::string file() {
    const std::string path = testing::TempDir() + "ampere_prune_test.db";
    std::filesystem::remove(path);
    return path;
  }
  void profile(const Network& network) {
    std::mt19937 random(3);
    std::normal_distribution<double> noise(0, 0.05);
    ProfileOptions options;
    options.where.guided.max_points_1d = 5;
    options.where.guided.max_points_2d = 8;
    options.how.mode = device_.accelerator ? MeasureMode::kReplay : MeasureMode::kEager;
    if (device_.accelerator) options.where.energy_points_1d = options.where.energy_points_2d = 6;
    run_profile(
        profile_, split_plans(parse_layers(network, kBatch)),
        [&](const MeasureRequest& r) {
          Measurement m = device_(r);
          const double factor = std::exp(noise(random));
          m.time_s *= factor;
          if (m.energy_j) *m.energy_j *= factor;
          return m;
        },
        options);
    if (device_.accelerator) profile_.set_idle_power_w(device_.idle_w, true);
    const std::string family = family_of(network, kBatch);
    for (Part part : {Part::kEnergy, Part::kTime, Part::kDeviceTime, Part::kDeviceEnergy, Part::kHostTime})
      keep_composition(profile_, "split", family, part, {0.02 + 0.01 * static_cast<int>(part), 0.03, 4});
  }
  // The tables must tell what the estimator tells.
  void tables_agree(const Network& network, MeasureMode mode) {
    profile(network);
    tables_agree_by_what_is_known(network, mode);
  }
  void tables_agree_by_what_is_known(const Network& network, MeasureMode mode) {
    const PrunableNetwork p(network, kBatch);
    std::vector<std::vector<std::int64_t>> numbers;
    for (const ChannelGroup& g : p.groups()) {
      numbers.emplace_back();
      for (std::int64_t n = g.least; g.fixed.empty() && n < g.channels; n += g.unit)
        numbers.back().push_back(n);
      numbers.back().push_back(g.channels);
    }
    const LayerModels models(profile_, split_plans(p.layers()));
    CostTables tables(p, numbers, &models, mode);
    std::mt19937 random(11);
    for (int i = 0; i < 40; ++i) {
      Choice choice;
      for (const auto& own : numbers) choice.push_back(static_cast<std::uint16_t>(random() % own.size()));
      const Network candidate = p.with(tables.channels(choice));
      const CandidateCost fast = tables.cost(choice);
      const Estimate slow = estimate_network(profile_, find_method("split"), candidate, kBatch, mode);
      const Cost cost = network_cost(candidate, kBatch);
      EXPECT_NEAR(fast.energy_j / slow.energy_j.value, 1, 1e-9) << network.name();
      EXPECT_NEAR(fast.flops / cost.flops(), 1, 1e-6) << network.name();
      EXPECT_NEAR(fast.parameters, cost.parameters, 1e-6 * cost.parameters) << network.name();
    }
  }

  std::string path_;
  Store store_;
  DeviceProfile profile_;
  SyntheticDevice device_;
};

TEST_F(PruneTest, TablesTellWhatTheEstimatorTells) {
  for (const char* model : {"cnn5", "resnet18-cifar", "transformer"})
    tables_agree(build(parse_zoo(model)), MeasureMode::kEager);
  for (const Network& network : {mobile_network(), branched_network(), sequence_network()})
    tables_agree(network, MeasureMode::kEager);
}

TEST_F(PruneTest, TablesTellWhatTheEstimatorTellsOnTwoClocks) {
  device_.accelerator = true;
  for (MeasureMode mode : {MeasureMode::kEager, MeasureMode::kReplay}) {
    tables_agree(build(parse_zoo("cnn5")), mode);
    tables_agree(mobile_network(), mode);
  }
}

// Most kinds of cnn5 are told by those of lenet5, its last one was profiled.
TEST_F(PruneTest, TablesTellWhatTheEstimatorTellsOfKindsThatNobodyProfiled) {
  for (const bool accelerator : {false, true}) {
    device_.accelerator = accelerator;
    profile(build(parse_zoo("lenet5")));
    for (const char* model : {"cnn5", "transformer"})
      tables_agree_by_what_is_known(build(parse_zoo(model)), MeasureMode::kEager);
    tables_agree_by_what_is_known(branched_network(), MeasureMode::kEager);
  }
}

PruneOptions small_search(SearchKind kind = SearchKind::kEvolve) {
  PruneOptions o;
  o.search.candidates = 20000;
  o.search.kind = kind;
  return o;
}

TEST_F(PruneTest, HalfTheEnergyIsUsedAndNotMore) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  double random_kept = 0;
  for (SearchKind kind : {SearchKind::kRandom, SearchKind::kEvolve}) {
    const PrunePlan plan = prune(profile_, network, kBatch, small_search(kind));
    const double share = plan.after->energy_j.value / plan.before->energy_j.value;
    EXPECT_LE(share, 0.5);
    EXPECT_GT(share, 0.45);
    EXPECT_EQ(plan.candidates, 20000);
    EXPECT_GT(plan.within, 0);
    EXPECT_GE(plan.cost_after.parameters, random_kept) << "evolution comes second";
    random_kept = plan.cost_after.parameters;
    // The estimate is that of the network that comes out.
    EXPECT_EQ(estimate_network(profile_, find_method("split"), plan.network, kBatch).energy_j.value,
              plan.after->energy_j.value);
  }
}

TEST_F(PruneTest, KindsThatNobodyProfiledArePrunedByWhatOthersTell) {
  profile(build(parse_zoo("lenet5")));
  const PrunePlan plan = prune(profile_, build(parse_zoo("cnn5")), kBatch, small_search());
  EXPECT_GT(plan.before->unmeasured, 0.5);
  EXPECT_LE(plan.after->energy_j.value, plan.budget);
  EXPECT_GT(plan.after->energy_j.value, 0.9 * plan.budget);
  PruneOptions o = small_search();
  o.risk = 0.05;
  EXPECT_LE(prune(profile_, build(parse_zoo("cnn5")), kBatch, o).bound, plan.budget);
}

TEST_F(PruneTest, TheSameSeedGivesTheSameNetwork) {
  const Network network = build(parse_zoo("resnet18-cifar"));
  profile(network);
  PruneOptions o = small_search();
  o.search.candidates = 2000;
  const Json one = network_to_json(prune(profile_, network, kBatch, o).network);
  EXPECT_EQ(network_to_json(prune(profile_, network, kBatch, o).network), one);
  o.search.seed = 2;
  EXPECT_NE(network_to_json(prune(profile_, network, kBatch, o).network), one);
}

TEST_F(PruneTest, ARiskLeavesRoom) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  PruneOptions o = small_search();
  const PrunePlan average = prune(profile_, network, kBatch, o);
  o.risk = 0.05;
  const PrunePlan safe = prune(profile_, network, kBatch, o);
  EXPECT_LT(safe.after->energy_j.value, average.after->energy_j.value);
  EXPECT_LE(safe.bound, safe.budget);
  EXPECT_GT(safe.bound, 0.99 * safe.budget) << "no more room than is needed";
  EXPECT_DOUBLE_EQ(safe.bound, upper_bound(safe.after->energy_j, 0.05));
}

TEST_F(PruneTest, UpperBoundsAreThoseOfTheInterval) {
  const Interval i = interval_of(10, 1);
  EXPECT_NEAR(upper_bound(i, 0.025), i.high, 1e-6);
  EXPECT_NEAR(upper_bound(i, 0.975), i.low, 1e-6);
  EXPECT_NEAR(upper_bound(i, 0.5), i.value, 1e-6);
}

// A device on which smaller networks cost more than the sum of their layers.
TEST_F(PruneTest, ChecksCorrectWhatTheEstimateMissed) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  int trained = 0;
  const Measure measure = [&](const MeasureRequest& r) {
    Measurement m = device_(r);
    *m.energy_j *= r.network.name() == network.name() ? 1 : 1.15;
    *m.energy_j *= 1 + 0.002 * (++trained % 3);
    return m;
  };
  const TrainingEnergy energy = energy_on_random_data(measure, kBatch, {});
  CheckedPruneOptions o;
  o.prune = small_search();
  const CheckedPlan plan = prune_checked(profile_, network, kBatch, energy, o);
  EXPECT_GT(plan.checks, 1);
  EXPECT_LE(plan.measured.share, 0.5);
  EXPECT_GT(plan.measured.share, 0.47);
  const double share = plan.plan.after->energy_j.value / plan.plan.before->energy_j.value;
  EXPECT_LT(share, 0.46) << "the estimate of what holds is well below the budget";
  o.most_checks = 1;
  EXPECT_THROW(prune_checked(profile_, network, kBatch, energy, o), Error);
}

TEST(MeasureShare, NoisyMachinesGetMoreTurns) {
  const Network original = build(parse_zoo("cnn5")), pruned = build(parse_zoo("lenet5"));
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.02);
  int trained = 0;
  const TrainingEnergy energy = [&](const Network& n) {
    ++trained;
    return (n.name() == original.name() ? 10 : 5) * (1 + noise(random));
  };
  const MeasuredShare share = measure_share(energy, original, pruned, {});
  EXPECT_GT(trained, 2 * CheckedPruneOptions().turns + 1);
  EXPECT_NEAR(share.share, 0.5, 4 * share.error);
  EXPECT_LT(share.error, 0.01 * share.share);

  trained = 0;
  const TrainingEnergy quiet = [&](const Network& n) {
    return ++trained, n.name() == original.name() ? 10 : 5;
  };
  EXPECT_GT(measure_share(quiet, original, pruned, {}).error, 0) << "agreement may be luck";
  EXPECT_EQ(trained, 2 * CheckedPruneOptions().turns + 1);
}

TEST_F(PruneTest, LimitsOnChannelsHold) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  PruneOptions o = small_search();
  o.multiple_of = 8;
  o.min_channels = 12;
  o.keep = {"conv1"};
  const PrunePlan plan = prune(profile_, network, kBatch, o);
  for (const GroupPlan& g : plan.groups) {
    if (g.group.name == "conv1" || g.group.name == "fc") {
      EXPECT_EQ(g.channels, g.group.channels);
      EXPECT_FALSE(g.untouched.empty());
    } else {
      EXPECT_EQ(g.channels % 8, 0) << g.group.name;
      EXPECT_GE(g.channels, 16) << g.group.name;
    }
  }
}

TEST_F(PruneTest, ScoresDecideWhatIsKept) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  PruneOptions o = small_search();
  o.rank = Rank::kScore;
  std::vector<double> each(64, 0.001);
  for (std::size_t c = 40; c < 56; ++c) each[c] = 1;  // all that matters in conv2
  o.scores = {{"conv2", each}, {"conv3", {0.5}}, {"conv1", {0.5}}, {"conv4", {1}}};
  const PrunePlan plan = prune(profile_, network, kBatch, o);
  const GroupPlan& conv2 = plan.groups[1];
  EXPECT_EQ(conv2.group.name, "conv2");
  EXPECT_GE(conv2.channels, 14);
  EXPECT_EQ(static_cast<std::int64_t>(conv2.kept.size()), conv2.channels);
  for (std::size_t i = 0; i < 14; ++i)
    EXPECT_THAT(each[static_cast<std::size_t>(conv2.kept[i])], testing::Ge(0.001));
  int important = 0;
  for (std::int64_t c : conv2.kept) important += c >= 40 && c < 56;
  EXPECT_GE(important, 14);
  o.scores = {{"conv2", {1, 2, 3}}};
  EXPECT_THROW(prune(profile_, network, kBatch, o), Error);
  o.scores = {{"relu2", {1}}};
  EXPECT_THROW(prune(profile_, network, kBatch, o), Error);
}

ErrorKind kind_of(const std::function<void()>& work, std::string* message = nullptr) {
  try {
    work();
  } catch (const Error& e) {
    if (message) *message = e.what();
    return e.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::kFailed;
}

TEST_F(PruneTest, ImpossibleBudgetsAreTold) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  PruneOptions o = small_search();
  std::string message;
  o.budget = parse_budget("0.000001mJ/iter");
  EXPECT_EQ(kind_of([&] { prune(profile_, network, kBatch, o); }, &message), ErrorKind::kOverBudget);
  EXPECT_THAT(message, testing::HasSubstr("the cheapest takes"));
  o.budget = parse_budget("50%");
  o.keep = {"conv1", "conv2", "conv3", "conv4"};
  EXPECT_EQ(kind_of([&] { prune(profile_, network, kBatch, o); }, &message), ErrorKind::kOverBudget);
  EXPECT_THAT(message, testing::HasSubstr("none of its channels may change"));
  o.keep = {"conv9"};
  EXPECT_EQ(kind_of([&] { prune(profile_, network, kBatch, o); }, &message), ErrorKind::kBadInput);
  EXPECT_THAT(message, testing::HasSubstr("conv4"));
  const DeviceProfile otherwise(store_, profile_.device(), "sgd-bf16-t1");  // nothing was measured so
  EXPECT_EQ(kind_of([&] { prune(otherwise, network, kBatch, small_search()); }), ErrorKind::kNotProfiled);
}

TEST_F(PruneTest, ANetworkThatFitsStaysAsItIs) {
  const Network network = build(parse_zoo("cnn5"));
  profile(network);
  PruneOptions o = small_search();
  for (const char* budget : {"100%", "1kWh/iter"}) {
    o.budget = parse_budget(budget);
    const PrunePlan plan = prune(profile_, network, kBatch, o);
    EXPECT_TRUE(plan.unchanged);
    EXPECT_EQ(network_to_json(plan.network), network_to_json(network));
  }
}

TEST_F(PruneTest, FlopsNeedNoProfile) {
  const Network network = build(parse_zoo("resnet50"));
  PruneOptions o = small_search();
  const PrunePlan plan = prune_by_flops(network, kBatch, o);
  EXPECT_FALSE(plan.after);
  EXPECT_LE(plan.cost_after.flops(), 0.5 * plan.cost_before.flops() * (1 + 1e-6));
  EXPECT_GT(plan.cost_after.flops(), 0.48 * plan.cost_before.flops());
  o.risk = 0.05;
  EXPECT_THROW(prune_by_flops(network, kBatch, o), Error);
}

TEST(Budgets, AreParsed) {
  EXPECT_DOUBLE_EQ(parse_budget("50%").amount, 0.5);
  EXPECT_DOUBLE_EQ(parse_budget("40J/iter").amount, 40);
  EXPECT_DOUBLE_EQ(parse_budget("2kWh/job").amount, 7.2e6);
  EXPECT_DOUBLE_EQ(parse_budget("1.5 mJ/iteration").amount, 1.5e-3);
  EXPECT_DOUBLE_EQ(joules_per_iteration(parse_budget("2kWh/job"), 1, 1e6), 7.2);
  for (const char* wrong :
       {"", "50", "%", "101%", "-5%", "0%", "40J", "40W/iter", "40J/epoch", "nan%", "5%%"})
    EXPECT_THROW(parse_budget(wrong), Error) << wrong;
  EXPECT_THROW(joules_per_iteration(parse_budget("2J/job"), 1, 0), Error);
}

}  // namespace
}  // namespace ampere
