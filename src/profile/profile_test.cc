#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/error.h"
#include "network/zoo.h"
#include "profile/cost_polynomial.h"
#include "profile/device_profile.h"
#include "profile/guided.h"
#include "profile/jumps.h"
#include "profile/nnls.h"
#include "profile/power_model.h"
#include "profile/run.h"
#include "profile/store.h"
#include "profile/synthetic_device_for_test.h"

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

  std::string error_on_open() {
    try {
      Store store(path_);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      return e.what();
    }
    return "";
  }
  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string path_;
};

StoredPoint point(const std::string& surface, Channels channels, double seconds) {
  Measurement m;
  m.time_s = seconds;
  m.energy_j = 10 * seconds;
  return {surface, channels, "{}", m, ""};
}

using StoreTest = TemporaryFile;

TEST_F(StoreTest, PointsSurviveClosing) {
  std::string id;
  {
    Store store(path_);
    id = store.add_device({{"name", "cpu"}});
    store.add_point(id, "sgd", point("split/a", {1, 2}, 0.25));
    store.add_point(id, "sgd", point("split/a", {3, 4}, 0.5));
    store.put_fact(id, "sgd", "idle", {{"power_w", 12.5}});
  }
  Store store(path_);
  const auto points = store.points(id, "sgd", "split/a");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].channels, (Channels{3, 4}));
  EXPECT_EQ(points[1].measurement.time_s, 0.5);
  EXPECT_FALSE(points[1].measured_at.empty());
  EXPECT_TRUE(store.points(id, "adam", "split/a").empty());
  EXPECT_EQ(store.fact(id, "sgd", "idle")->at("power_w"), 12.5);
  EXPECT_FALSE(store.fact(id, "sgd", "other"));
  EXPECT_EQ(store.devices().size(), 1u);
  EXPECT_EQ(store.add_device({{"name", "cpu"}}), id);
  EXPECT_NE(store.add_device({{"name", "gpu"}}), id);
}

TEST_F(StoreTest, TwoFirstRunsAtOnce) {
  for (int i = 0; i < 60; ++i) {
    std::filesystem::remove(path_);
    std::vector<std::future<void>> runs;
    for (int run = 0; run < 3; ++run)
      runs.push_back(std::async(std::launch::async, [this] { const Store store(path_); }));
    for (auto& run : runs) EXPECT_NO_THROW(run.get());
  }
}

TEST_F(StoreTest, NewerVersionIsRefused) {
  { Store store(path_); }
  execute("PRAGMA user_version = 99");
  EXPECT_THAT(error_on_open(), HasSubstr("newer version of ampere"));
}

TEST_F(StoreTest, OtherDatabasesAndOtherFilesAreRefused) {
  execute("CREATE TABLE other(a)");
  EXPECT_THAT(error_on_open(), HasSubstr("another program"));
  std::ofstream(path_) << "this is not a database, only text of some length";
  EXPECT_THAT(error_on_open(), HasSubstr("not an ampere store"));
}

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

// A guided loop over a made-up surface; returns what was measured, in order.
std::vector<Channels> walk(Surface surface, const Domain& domain, const GuidedOptions& options,
                           StopWhy* why) {
  std::vector<Channels> order;
  std::set<Channels> measured;
  std::vector<Observation> seen;
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 2);
  const CostPolynomial cost(layers[1].kind, true);
  for (int guard = 0; guard < 1000; ++guard) {
    std::unique_ptr<SurfaceModel> model;
    if (seen.size() >= corner_count(surface, domain, options)) {
      model = std::make_unique<SurfaceModel>(seen, surface, cost, default_surface_options());
    }
    const NextPoint next = next_point(
        surface, domain, measured, {},
        model ? [&](const std::vector<Channels>& at) { return model->relative_deviation(at); } : Deviations{},
        options);
    *why = next.why;
    if (!next.channels) return order;
    EXPECT_TRUE(measured.insert(*next.channels).second) << "the same point twice";
    order.push_back(*next.channels);
    // Bumpy enough to keep the process uncertain.
    const auto i = static_cast<double>(next.channels->in);
    const auto o = static_cast<double>(next.channels->out);
    seen.push_back(
        {*next.channels, 1 + 0.3 * std::sin(i * 1.7) + 0.2 * std::cos(o * 2.3) + i * o * 1e-3, 0.01});
  }
  ADD_FAILURE() << "the loop did not end";
  return order;
}

TEST(Guided, SpreadsPointsOverTypicalPlaces) {
  GuidedOptions options;
  options.spread_of_three = 3;
  const Domain domain{{1, 64, 1}, {1, 64, 1}};
  std::set<Channels> measured = {{1, 1}, {64, 64}, {1, 64}, {64, 1}};
  const std::vector<Channels> typical = {{9, 9}, {30, 30}};
  const auto unsure = [](const std::vector<Channels>& at) {
    return Eigen::VectorXd(Eigen::VectorXd::Ones(static_cast<Eigen::Index>(at.size())));
  };
  for (const Channels& place : typical) {
    const NextPoint next = next_point(Surface::kInOut, domain, measured, {}, unsure, options, typical);
    ASSERT_EQ(next.channels, place);
    measured.insert(place);
  }
  // When they are all known, the rest of the domain.
  EXPECT_TRUE(next_point(Surface::kInOut, domain, measured, {}, unsure, options, typical).channels);
}

TEST(Surface, LearnsBlocksOnlyWhereThePointsShowThem) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 2);
  const CostPolynomial cost(layers[1].kind, true);
  const auto off_at = [&](std::int64_t block, std::int64_t allowed) {
    const auto value = [&](Channels c) {
      const auto up = [&](std::int64_t v) { return (v + block - 1) / block * block; };
      return 1e-4 + 1e-10 * cost.flops({up(c.in), up(c.out)});
    };
    std::vector<Observation> seen;
    for (const std::int64_t in : {1, 9, 17, 21, 32, 40, 49, 64}) {
      for (const std::int64_t out : {5, 18, 33, 64}) seen.push_back({{in, out}, value({in, out}), 0.01});
    }
    SurfaceOptions options = default_surface_options();
    options.block = allowed;
    const SurfaceModel model(seen, Surface::kInOut, cost, options);
    double worst = 0;
    for (const Channels c : {Channels{34, 34}, Channels{47, 47}, Channels{30, 50}})
      worst = std::max(worst, std::abs(model.at({c}).mean(0) / value(c) - 1));
    return worst;
  };
  EXPECT_LT(off_at(16, 16), 0.02);
  EXPECT_GT(off_at(16, 1), 0.05);
  EXPECT_LT(off_at(1, 16), 0.02);
}

TEST(Jumps, HalvesTheGapBetweenNeighboursThatDiffer) {
  const Domain line{{1, 101, 1}, {10, 10, 1}};
  const std::vector<Channels> places = {{1, 10}, {51, 10}, {101, 10}};
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0, 1), {}, 0.25), (Channels{76, 10}));
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0.1, 0.2), {}, 0.25), std::nullopt);
  // The ends are no neighbours: the point between them has been seen.
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0.2, 0.4), {}, 0.25), std::nullopt);
  EXPECT_EQ(between_jump(Surface::kIn, line, places, Eigen::Vector3d(0, 0, 1), {{76, 10}}, 0.25),
            std::nullopt);
  const Domain plane{{4, 64, 4}, {8, 128, 8}};
  const auto corner = between_jump(Surface::kInOut, plane, {{4, 8}, {64, 8}, {4, 128}, {64, 128}},
                                   Eigen::Vector4d(0, 0, 0, 1.4), {}, 0.25);
  ASSERT_TRUE(corner);
  EXPECT_EQ(corner->in % 4, 0);
  EXPECT_EQ(corner->out % 8, 0);
}

// A region that only one point has hit, with ordinary ones close by on one side: the other sides are looked
// at too.
TEST(Jumps, FollowsARegionInAllDirections) {
  const Domain plane{{1, 400, 1}, {1, 120, 1}};
  const auto dear = [](Channels c) { return c.in > 70 && c.in < 190 && c.out > 95; };
  std::vector<Channels> places = {{1, 1},    {400, 120}, {1, 120},  {400, 1},  {176, 98}, {213, 112},
                                  {101, 81}, {63, 89},   {26, 107}, {163, 63}, {5, 120},  {148, 91},
                                  {51, 54},  {276, 58},  {313, 49}, {251, 94}};
  for (int step = 0; step < 16; ++step) {
    Eigen::VectorXd residuals(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i)
      residuals(static_cast<Eigen::Index>(i)) = dear(places[i]) ? 1.4 : 0;
    if (const auto next = between_jump(Surface::kInOut, plane, places, residuals, {}, 0.25))
      places.push_back(*next);
  }
  const auto far_side = [&](Channels c) { return dear(c) && c.in < 120; };
  EXPECT_GE(std::count_if(places.begin(), places.end(), far_side), 2);
}

TEST(Jumps, EndsWhereTheEdgeIsKnown) {
  const Domain line{{1, 1001, 1}, {10, 10, 1}};
  std::vector<Channels> places = {{1, 10}, {1001, 10}};
  int steps = 0;
  for (; steps < 100; ++steps) {
    Eigen::VectorXd residuals(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i)
      residuals(static_cast<Eigen::Index>(i)) = places[i].in > 300 ? 1 : 0;
    const auto next = between_jump(Surface::kIn, line, places, residuals, {}, 0.25);
    if (!next) break;
    places.push_back(*next);
  }
  EXPECT_EQ(steps, 5);
}

TEST(Guided, StartsWithTheBoundsAndKeepsToTheLimit) {
  GuidedOptions options;
  options.max_points_2d = 12;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  const auto order = walk(Surface::kInOut, {{1, 64, 1}, {1, 128, 1}}, options, &why);
  EXPECT_EQ(order.size(), 12u);
  EXPECT_EQ(why, StopWhy::kPointLimit);
  EXPECT_EQ(order[0], (Channels{64, 128}));
  EXPECT_EQ(order[1], (Channels{1, 1}));
  EXPECT_THAT((std::vector<Channels>{order[2], order[3]}),
              testing::UnorderedElementsAre(Channels{1, 128}, Channels{64, 1}));
}

TEST(Guided, EndsWhenNothingIsLeft) {
  GuidedOptions options;
  options.max_points_1d = 100;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  EXPECT_EQ(walk(Surface::kIn, {{1, 3, 1}, {10, 10, 1}}, options, &why).size(), 3u);
  EXPECT_EQ(why, StopWhy::kExhausted);
  EXPECT_EQ(walk(Surface::kPoint, {{5, 5, 1}, {10, 10, 1}}, options, &why).size(), 1u);
}

TEST(Guided, StopsWhenCertain) {
  GuidedOptions options;
  options.stop_deviation = 10;
  StopWhy why{};
  EXPECT_EQ(walk(Surface::kOut, {{3, 3, 1}, {1, 64, 1}}, options, &why).size(), 4u);
  EXPECT_EQ(why, StopWhy::kCertain);
}

TEST(Guided, SpreadPointsLieWhereNetworksDo) {
  GuidedOptions options;
  options.max_points_2d = 28;
  options.stop_deviation = 1e-9;
  StopWhy why{};
  const auto large = [&](int spread) {
    options.spread_of_three = spread;
    const auto order = walk(Surface::kInOut, {{8, 512, 8}, {1, 128, 1}}, options, &why);
    EXPECT_EQ(order.size(), 28u);
    for (const Channels& c : order) EXPECT_EQ(c.in % 8, 0);
    return std::count_if(order.begin(), order.end(),
                         [](const Channels& c) { return c.in > 256 && c.out > 64; });
  };
  EXPECT_GE(large(3), 6);  // a quarter of the domain, and of the 24 points after the corners
  EXPECT_LT(large(0), large(3));
}

TEST(PowerModel, TellsKernelsApartByTheirTimes) {
  // Every third layer runs half as fast, and draws less meanwhile.
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const CostPolynomial cost(layers[1].kind, true);
  const auto truth = [&](Channels c) {
    const bool slow = (c.in + c.out) % 3 == 0;
    const double time = (1e-5 + 1e-12 * cost.flops(c)) * (slow ? 2 : 1);
    return PowerObservation{c, 100 * time + 2e-10 * cost.flops(c), time, 0.001};
  };
  std::vector<PowerObservation> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(truth({1 + i * 7 % 32, 1 + i * 11 % 64}));
  const PowerModel model(seen, cost);
  for (const Channels c : {Channels{9, 30}, Channels{10, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const PowerObservation t = truth(c);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    EXPECT_NEAR(model.energy({c}, times).mean(0) / t.energy_j, 1, 0.05) << c.in << ' ' << c.out;
  }
  const SurfacePrediction known = model.energy(
      {seen[3].channels}, {Eigen::VectorXd::Constant(1, seen[3].time_s), Eigen::MatrixXd::Zero(1, 1)});
  EXPECT_NEAR(known.mean(0) / seen[3].energy_j, 1, 0.01);
}

// Each kind has seen few layers, and hardly a slow one; together they have seen enough.
TEST(SharedPower, KindsTeachEachOther) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const auto truth = [&](const CostPolynomial& cost, Channels c, bool slow) {
    const double time = (1e-5 + 1e-12 * cost.flops(c)) * (slow ? 2 : 1);
    return PowerObservation{c, 100 * time + 2e-10 * cost.flops(c), time, 0.001};
  };
  std::map<std::string, PowerOfKind> kinds;
  for (int k = 1; k <= 3; ++k) {
    PowerOfKind kind{CostPolynomial(layers[static_cast<std::size_t>(k)].kind, true), {}};
    for (int i = 0; i < 8; ++i)
      kind.observations.push_back(
          truth(kind.cost, {1 + (i + k) * 7 % 32, 1 + (i + k) * 11 % 64}, i % 3 == 0 && k != 1));
    kinds.emplace("kind" + std::to_string(k), kind);
  }
  const auto shared = SharedPower::fit(kinds, 90);
  ASSERT_TRUE(shared);
  const PowerOfKind& first = kinds.at("kind1");  // never seen slow
  const PowerModel alone(first.observations, first.cost);
  const PowerModel with_others(first.observations, first.cost, {shared, nullptr, "kind1"});
  double off_alone = 0, off_with_others = 0;
  for (const Channels c : {Channels{9, 30}, Channels{12, 32}, Channels{20, 50}, Channels{25, 20}}) {
    const PowerObservation t = truth(first.cost, c, true);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    off_alone += std::abs(std::log(alone.energy({c}, times).mean(0) / t.energy_j)) / 4;
    off_with_others += std::abs(std::log(with_others.energy({c}, times).mean(0) / t.energy_j)) / 4;
  }
  EXPECT_LT(off_with_others, 0.06);
  EXPECT_LT(off_with_others, off_alone);

  kinds.erase("kind3");
  EXPECT_FALSE(SharedPower::fit(kinds, 90)) << "two kinds are too few";
}

TEST(KernelMarks, DistanceIsTheNumberOfKernelsThatDiffer) {
  const KernelMarks marks({{"gemm", "relu"}, {"fft", "relu"}});
  const Eigen::MatrixXd at = marks({{"gemm", "relu"}, {"fft", "relu"}, {"relu", "new", "newer"}, {}});
  EXPECT_EQ(at.cols(), marks.columns());
  EXPECT_DOUBLE_EQ((at.row(0) - at.row(1)).squaredNorm(), 2);
  EXPECT_DOUBLE_EQ((at.row(0) - at.row(2)).squaredNorm(), 3);
  EXPECT_DOUBLE_EQ(at.row(3).squaredNorm(), 0);
}

// Two kernels take equally long and draw different power, so that nothing but their names tells them apart.
TEST(SharedPower, KernelsTellPowerWhereRatesCannot) {
  const auto layers = parse_layers(build(parse_zoo("cnn5")), 16);
  const auto truth = [&](const CostPolynomial& cost, Channels c) {
    const bool hot = (c.in * 5 + c.out) % 3 == 0;
    const double time = 1e-5 + 1e-12 * cost.flops(c);
    const double energy = 100 * time + (hot ? 3e-10 : 2e-10) * cost.flops(c);
    return PowerObservation{c, energy, time, 0.001, {hot ? "winograd" : "gemm", "batch_norm"}};
  };
  std::map<std::string, PowerOfKind> kinds;
  for (int k = 1; k <= 3; ++k) {
    PowerOfKind kind{CostPolynomial(layers[static_cast<std::size_t>(k)].kind, true), {}};
    for (int i = 0; i < 14; ++i)
      kind.observations.push_back(truth(kind.cost, {1 + (i + k) * 7 % 32, 1 + (i + k) * 11 % 64}));
    kinds.emplace("kind" + std::to_string(k), kind);
  }
  const auto by_rates = SharedPower::fit(kinds, 90);
  const auto by_kernels = SharedPower::fit(kinds, 90, PowerInputs::kKernels);
  ASSERT_TRUE(by_kernels);
  const PowerOfKind& first = kinds.at("kind1");
  PowerModel model(first.observations, first.cost, {by_rates, by_kernels, "kind1"});
  double guessed = 0, known = 0;
  for (const Channels c : {Channels{9, 30}, Channels{12, 32}, Channels{20, 50}, Channels{25, 19}}) {
    const PowerObservation t = truth(first.cost, c);
    const SurfacePrediction times{Eigen::VectorXd::Constant(1, t.time_s), Eigen::MatrixXd::Zero(1, 1)};
    const SurfacePrediction guess = model.energy({c}, times);
    model.know(c, t.kernels);
    const SurfacePrediction told = model.energy({c}, times);
    guessed += std::abs(guess.mean(0) / t.energy_j - 1);
    known += std::abs(told.mean(0) / t.energy_j - 1);
    model.know(c, {"never seen", "batch_norm"});
    EXPECT_GT(model.energy({c}, times).covariance(0, 0), told.covariance(0, 0));
  }
  EXPECT_LT(known, 0.5 * guessed);

  kinds.at("kind2").observations[3].kernels.clear();
  EXPECT_TRUE(SharedPower::fit(kinds, 90, PowerInputs::kKernels)) << "one that nobody can tell is left out";
  for (PowerObservation& o : kinds.at("kind2").observations) o.kernels.clear();
  EXPECT_FALSE(SharedPower::fit(kinds, 90, PowerInputs::kKernels)) << "two kinds are too few";
}

TEST(Guided, KeepsToTheStepOfTheChannels) {
  for (const Channels& c : candidates(Surface::kInOut, {{8, 512, 8}, {32, 256, 32}})) {
    EXPECT_EQ(c.in % 8, 0);
    EXPECT_EQ(c.out % 32, 0);
  }
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
  options.guided.all_corners = false;
  run_profile(
      profile, plans, [&](const MeasureRequest& r) { return device(r); }, options);
  for (const SurfacePlan& p : plans) EXPECT_TRUE(profile.has(p.key)) << p.key;
}

}  // namespace
}  // namespace ampere
