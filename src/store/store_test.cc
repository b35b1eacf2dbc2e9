#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/error.h"
#include "layers/kind_json.h"
#include "layers/parse.h"
#include "network/zoo.h"
#include "store/migrate.h"

namespace ampere {
namespace {

using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  StoreTest() : path_(testing::TempDir() + "store_test_" + test_name() + ".db") { remove(path_.c_str()); }
  ~StoreTest() override { remove(path_.c_str()); }

  static std::string test_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
  static Measurement measured(double energy_j) {
    Measurement m;
    m.energy_j = energy_j;
    m.time_s = 0.01;
    return m;
  }
  static Layer some_layer() { return parse_layers(build(parse_zoo("lenet5")), 10).at(1); }

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

// All kinds of the zoo, at two batches.
std::vector<Layer> zoo_layers() {
  std::vector<Layer> layers;
  for (const ZooEntry& entry : zoo()) {
    for (const std::int64_t batch : {1, 10}) {
      for (Layer& layer : parse_layers(build(parse_zoo(entry.name)), batch))
        layers.push_back(std::move(layer));
    }
  }
  return layers;
}

TEST(KindJson, KindsComeBackAsTheyWere) {
  for (const Layer& layer : zoo_layers()) {
    const Json json = kind_to_json(layer.kind);
    const LayerKind back = kind_from_json(parse_json(json.dump(), "test"), "test");
    EXPECT_EQ(back.word(), layer.kind.word());
    EXPECT_EQ(kind_to_json(back), json);
    EXPECT_EQ(build_layer(back, layer.channels).nodes().size(),
              build_layer(layer.kind, layer.channels).nodes().size());
  }
}

TEST(KindJson, WhatIsNoKindIsRefused) {
  const Json good = kind_to_json(zoo_layers().front().kind);
  for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{{"ops", Json::array()},
                                                                              {"ops", {{{"op", "teleport"}}}},
                                                                              {"ops", 3},
                                                                              {"inputs", Json::array()},
                                                                              {"head", 7},
                                                                              {"head", -1},
                                                                              {"batch", 0},
                                                                              {"surface", "round"},
                                                                              {"fixed", {{"in", 1}}},
                                                                              {"batch", "ten"}}) {
    Json bad = good;
    bad[field] = value;
    EXPECT_THROW(kind_from_json(bad, "test"), Error) << field << " " << value;
  }
}

TEST_F(StoreTest, SurfacesComeBackTyped) {
  const Layer layer = some_layer();
  const StoredSurface surface = layer_surface("split", layer.role, layer.kind);
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  store.add_point(device, "sgd", surface, {"", {3, 4}, "{}", measured(1), ""});
  store.add_point(device, "sgd", surface, {"", {5, 6}, "{}", measured(2), ""});
  store.add_point(device, "sgd", probe_of(surface, Purpose::kTimedProbe),
                  {"", {5, 6}, "{}", measured(2), ""});
  const auto surfaces = store.surfaces(device);
  ASSERT_EQ(surfaces.size(), 2u);
  EXPECT_EQ(surfaces[0].surface.purpose, Purpose::kTimedProbe);
  EXPECT_EQ(surfaces[1].surface.name, "split/" + layer.key());
  EXPECT_EQ(surfaces[1].surface.method, "split");
  EXPECT_EQ(surfaces[1].surface.role, layer.role);
  EXPECT_EQ(surfaces[1].surface.kind->word(), layer.kind.word());
  EXPECT_EQ(surfaces[1].points, 2);
  EXPECT_EQ(store.points(device, "sgd", surface.name).at(1).channels, (Channels{5, 6}));
}

TEST_F(StoreTest, WhatIsNotCommittedIsTakenBack) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  const StoredSurface surface = empty_surface();
  {
    Store::Transaction transaction(store);
    store.add_point(device, "sgd", surface, {"", {0, 0}, "{}", measured(1), ""});
  }
  EXPECT_TRUE(store.points(device, "sgd", surface.name).empty());
  Store::Transaction transaction(store);
  store.add_point(device, "sgd", surface, {"", {0, 0}, "{}", measured(1), ""});
  transaction.commit();
  EXPECT_EQ(store.points(device, "sgd", surface.name).size(), 1u);
}

TEST_F(StoreTest, PointsSurviveClosing) {
  std::string id;
  {
    Store store(path_);
    id = store.add_device({{"name", "cpu"}});
    store.add_point(id, "sgd", empty_surface(), {"", {1, 2}, "{}", measured(0.25), ""});
    store.add_point(id, "sgd", empty_surface(), {"", {3, 4}, "{}", measured(0.5), ""});
    store.put_fact(id, "sgd", "idle", {{"power_w", 12.5}});
  }
  Store store(path_);
  const auto points = store.points(id, "sgd", "split/empty");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].channels, (Channels{3, 4}));
  EXPECT_EQ(points[1].measurement.energy_j, 0.5);
  EXPECT_FALSE(points[1].measured_at.empty());
  EXPECT_TRUE(store.points(id, "adam", "split/empty").empty());
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

TEST(Migration, NamesOfVersion1AreTyped) {
  const auto one = [](const std::string& name) { return typed({{name, {1, 1}, "{}"}}).front(); };
  EXPECT_EQ(one("split/empty").purpose, Purpose::kEmpty);
  EXPECT_EQ(one("whole-replay/cnn5:c1=3#21f366f9@b10").purpose, Purpose::kWhole);
  EXPECT_EQ(one("whole/cnn5:c1=3#21f366f9@b10").family, "cnn5@b10");
  EXPECT_EQ(one("truth12/cnn5#21f366f9@b10").pass, 12);
  EXPECT_EQ(one("truth-replay2/cnn5#21f366f9@b10").purpose, Purpose::kTruth);
  const StoredSurface stage = one("neuralpower/backward/output/linear10@b10");
  EXPECT_EQ(stage.method, "neuralpower");
  EXPECT_EQ(stage.phase, Phase::kBackward);
  EXPECT_EQ(stage.role, LayerRole::kOutput);
  EXPECT_FALSE(stage.kind) << "nothing tells it";
  EXPECT_EQ(one("exact/split/hidden/linear-relu@b10").purpose, Purpose::kProbe);
  for (const char* odd :
       {"", "/", "split", "split/", "truth99999999999999/x", "whole", "probe/", "a/b/c<d>e<f"})
    EXPECT_EQ(one(odd).name, odd);
}

TEST(Migration, KindsAreToldByWhatWasTrained) {
  for (const Layer& layer : zoo_layers()) {
    MeasureRequest request;
    request.network = build_layer(layer.kind, layer.channels);
    request.batch = layer.kind.batch;
    const StoredSurface surface = layer_surface("split", layer.role, layer.kind);
    const StoredSurface back = typed({{surface.name, layer.channels, to_json(request).dump()}}).front();
    ASSERT_TRUE(back.kind) << surface.name;
    EXPECT_EQ(layer_surface("split", back.role, *back.kind).name, surface.name);
  }
}

TEST_F(StoreTest, AStoreOfVersion1IsMigratedOnce) {
  for (const std::string name : {"v1_cpu.db", "v1_cuda.db"}) {
    std::filesystem::copy_file(std::string(AMPERE_TEST_STORES) + "/" + name, path_,
                               std::filesystem::copy_options::overwrite_existing);
    for (int time = 0; time < 2; ++time) {
      Store store(path_);
      ASSERT_EQ(store.devices().size(), 1u);
      int points = 0;
      for (const SurfaceCount& s : store.surfaces(store.devices().front().id)) {
        points += s.points;
        const bool of_a_layer = s.surface.purpose <= Purpose::kProbe;
        EXPECT_EQ(s.surface.kind.has_value(), of_a_layer) << s.surface.name;
        if (!s.surface.kind) continue;
        // Its name is what is made of its parts.
        StoredSurface again = layer_surface(s.surface.method, s.surface.role, *s.surface.kind,
                                            s.surface.phase, s.surface.neighbours);
        if (s.surface.purpose != Purpose::kSurface) again = probe_of(again, s.surface.purpose);
        EXPECT_EQ(again.name, s.surface.name);
        const bool several = s.surface.neighbours.before || s.surface.neighbours.after;
        EXPECT_EQ(several, !s.surface.neighbours.subtracted.empty()) << s.surface.name;
      }
      EXPECT_GT(points, 50);
    }
  }
}

}  // namespace
}  // namespace ampere
