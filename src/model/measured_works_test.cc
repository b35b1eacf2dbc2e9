#include "model/measured_works.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "model/surface_plan.h"
#include "network/zoo.h"

namespace ampere {
namespace {

class MeasuredWorksTest : public testing::Test {
 protected:
  MeasuredWorksTest()
      : path_(file()),
        store_(path_),
        device_(store_.add_device({{"name", "here"}, {"type", "cpu"}, {"framework", "libtorch 2.4.0"}})),
        profile_(store_, device_, "sgd-fp32-t1") {}
  ~MeasuredWorksTest() override { std::filesystem::remove(path_); }

  static std::string file() {
    const std::string path = testing::TempDir() + "ampere_measured_works_test.db";
    std::filesystem::remove(path);
    return path;
  }
  static Measurement cost(double time_s, double energy_j) {
    Measurement m;
    m.time_s = time_s;
    m.energy_j = energy_j;
    m.time_error = m.energy_error = 0.01;
    m.mode = "eager";
    return m;
  }
  static Layer hidden_layer(std::int64_t batch) {
    return parse_layers(build(parse_zoo("cnn5")), batch).at(1);
  }
  // Of a convolution with so many channels.
  void add(const std::string& recipe, std::int64_t batch, Channels channels, const Measurement& m) {
    const Layer layer = hidden_layer(batch);
    store_.add_point(device_, recipe, layer_surface(kSplit, layer.role, layer.kind),
                     {"", channels, "{}", m, ""});
  }

  std::string path_;
  Store store_;
  std::string device_;
  DeviceProfile profile_;
};

TEST_F(MeasuredWorksTest, TakesTheEmptyIterationOff) {
  store_.add_point(device_, "sgd-fp32-t1", empty_surface(), {"", {0, 0}, "{}", cost(1e-3, 0.01), ""});
  add("sgd-fp32-t1", 4, {8, 8}, cost(5e-3, 0.05));
  Measurement replayed = cost(5e-3, 0.05);
  replayed.mode = "replay";
  add("sgd-fp32-t1", 4, {8, 16}, replayed);
  const MeasuredWorks works = measured_works(profile_, Computes::kFloat);
  ASSERT_EQ(works.seen.size(), 2u);
  EXPECT_TRUE(works.energies);
  EXPECT_FALSE(works.modelled);
  std::set<double> times;
  for (const MeasuredWork& m : works.seen) times.insert(m.time_s);
  EXPECT_NEAR(*times.begin(), 4e-3, 1e-12);
  EXPECT_EQ(*times.rbegin(), 5e-3) << "a replay has none";
}

TEST_F(MeasuredWorksTest, OptimizersAreTogetherAndPrecisionsAreNot) {
  add("sgd-fp32-t1", 4, {8, 8}, cost(5e-3, 0.05));
  add("adam-fp32-t1", 4, {8, 8}, cost(6e-3, 0.06));
  add("sgd-bf16-t1", 4, {8, 8}, cost(7e-3, 0.07));
  add("sgd-fp32-t2", 4, {8, 8}, cost(8e-3, 0.08));
  const MeasuredWorks works = measured_works(profile_, Computes::kFloat);
  ASSERT_EQ(works.seen.size(), 2u);
  EXPECT_NE(works.seen[0].place, works.seen[1].place) << "Adam makes other calls than plain SGD";
  EXPECT_LT(works.seen[1].works.size(), works.seen[0].works.size());
}

TEST_F(MeasuredWorksTest, LayersAreAskedForAsTheyWereMeasured) {
  add("sgd-fp32-t1", 4, {8, 24}, cost(5e-3, 0.05));
  const MeasuredWorks works = measured_works(profile_, Computes::kFloat);
  const Layer layer = hidden_layer(4);
  const SurfacePlan plan = split_plan_of(layer_surface(kSplit, layer.role, layer.kind));
  const auto asked = asked_work(profile_, plan, {8, 24});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->place, works.seen.at(0).place);
  ASSERT_EQ(asked->works.size(), works.seen[0].works.size());
  for (std::size_t i = 0; i < asked->works.size(); ++i)
    EXPECT_TRUE(asked->works[i].work == works.seen[0].works[i].work);
  EXPECT_NE(asked_work(profile_, plan, {8, 23})->place, asked->place);
}

TEST_F(MeasuredWorksTest, LargeStoresAreSelectedFrom) {
  Store::Transaction all(store_);  // quicker than one by one
  for (std::int64_t batch = 1; batch <= 6; ++batch) {
    for (std::int64_t out = 1; out <= 200; ++out)
      add("sgd-fp32-t1", batch, {8 + out % 7, 40 + out}, cost(1e-4 * static_cast<double>(out), 0.05));
  }
  const MeasuredWorks works = measured_works(profile_, Computes::kFloat);
  EXPECT_LT(works.seen.size(), 1200u);
  std::set<OpWork> distinct;
  std::map<char, int> by_batch;
  for (const MeasuredWork& m : works.seen) {
    for (const CountedWork& w : m.works) distinct.insert(w.work);
    ++by_batch[m.place[m.place.find("@14x14b") + 7]];
  }
  EXPECT_LE(distinct.size(), kMostDistinctWorks);
  EXPECT_GT(distinct.size(), kMostDistinctWorks / 2);
  ASSERT_EQ(by_batch.size(), 6u) << "every kind is there";
  for (const auto& [batch, count] : by_batch) EXPECT_NEAR(count, by_batch.begin()->second, 1) << batch;
}

TEST_F(MeasuredWorksTest, PartsOfIterationsAndNetworksOfSeveralLayersAreLeftOut) {
  const Layer layer = hidden_layer(4);
  EXPECT_TRUE(told_by_works(layer_surface(kSplit, layer.role, layer.kind)));
  EXPECT_FALSE(told_by_works(layer_surface("neuralpower", layer.role, layer.kind, Phase::kForward)));
  EXPECT_FALSE(told_by_works(layer_surface("paper", layer.role, layer.kind)));
}

}  // namespace
}  // namespace ampere
