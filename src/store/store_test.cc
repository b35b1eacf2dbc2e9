#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "layers/kind_json.h"
#include "layers/parse.h"
#include "network/zoo.h"
#include "store/database.h"
#include "store/migrate.h"
#include "store/schema.h"

namespace ampere {
namespace {

using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  StoreTest() : path_(testing::TempDir() + "store_test_" + test_name() + ".db") { remove(path_.c_str()); }
  ~StoreTest() override { remove(path_.c_str()); }

  static std::string test_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
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

TEST_F(StoreTest, OnlyServersHaveRolesAndDeliveries) {
  Store store(path_);
  EXPECT_THROW(store.grant("ann", true), Error);
  EXPECT_THROW(store.deliver(), Error);
  EXPECT_EQ(store.aside(), "");
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

// For disks that only may be read.
TEST_F(StoreTest, AnOlderStoreIsMigratedInACopy) {
  std::filesystem::copy_file(std::string(AMPERE_TEST_STORES) + "/v1_cpu.db", path_);
  const auto copy = open_sqlite_copy(path_);
  make_tables(*copy, path_);
  EXPECT_EQ(copy->schema_version(), kStoreVersion);
  EXPECT_GT(copy->query("SELECT id FROM point WHERE identity <> ''", {}).size(), 50u);
  EXPECT_EQ(open_sqlite(path_)->schema_version(), 1);
}

}  // namespace
}  // namespace ampere
