// What every store does, wherever it is kept. The server is the one that AMPERE_TEST_POSTGRESQL names
// (tests/with_postgresql.py starts one); without it only files are tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>
#include <thread>

#include "base/error.h"
#include "layers/parse.h"
#include "network/zoo.h"
#include "store/database.h"
#include "store/exchange.h"
#include "store/store.h"

namespace ampere {
namespace {

using testing::HasSubstr;

Measurement measured(double energy_j) {
  Measurement m;
  m.energy_j = energy_j;
  m.time_s = 0.01;
  return m;
}

StoredPoint point(Channels channels, double energy_j) { return {"", channels, "{}", measured(energy_j), ""}; }

std::string test_server() {
  const char* address = std::getenv("AMPERE_TEST_POSTGRESQL");
  return address ? address : "";
}

// "postgresql://.../...?...", looking at a schema of its own.
std::string in_schema(const std::string& schema) {
  const std::string server = test_server();
  return server + (server.find('?') == std::string::npos ? "?" : "&") + "options=-csearch_path%3D" + schema;
}

class StoreContract : public testing::TestWithParam<const char*> {
 protected:
  StoreContract() {
    static int count = 0;
    const std::string name = "contract_" + std::to_string(getpid()) + "_" + std::to_string(++count);
    if (on_server()) {
      if (test_server().empty()) return;
      schema_ = name;
      path_ = in_schema(schema_);
      open_postgres(test_server())->execute("CREATE SCHEMA " + schema_);
    } else {
      path_ = testing::TempDir() + name + ".db";
      std::filesystem::remove(path_);
    }
    other_ = testing::TempDir() + name + "_other.db";
    std::filesystem::remove(other_);
    home_ = testing::TempDir() + name + "_home";
    setenv("XDG_DATA_HOME", home_.c_str(), 1);
  }
  ~StoreContract() override {
    if (!schema_.empty()) open_postgres(test_server())->execute("DROP SCHEMA " + schema_ + " CASCADE");
    if (!path_.empty() && !on_server()) std::filesystem::remove(path_);
    std::filesystem::remove(other_);
    std::filesystem::remove_all(home_);
  }
  void SetUp() override {
    if (path_.empty()) GTEST_SKIP() << "AMPERE_TEST_POSTGRESQL names no server";
  }

  static bool on_server() { return std::string(GetParam()) == "server"; }
  void execute(const std::string& sql) const {
    (on_server() ? open_postgres(path_) : open_sqlite(path_))->execute(sql);
  }
  void set_version(int version) const {
    execute(on_server() ? "UPDATE ampere_store SET version = " + std::to_string(version)
                        : "PRAGMA user_version = " + std::to_string(version));
  }
  std::string error_on_open() const {
    try {
      Store store(path_);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      return e.what();
    }
    return "";
  }

  std::string path_, other_, schema_, home_;
};

INSTANTIATE_TEST_SUITE_P(Everywhere, StoreContract, testing::Values("file", "server"),
                         [](const auto& place) { return std::string(place.param); });

TEST_P(StoreContract, SurfacesComeBackTyped) {
  const Layer layer = parse_layers(build(parse_zoo("lenet5")), 10).at(1);
  const StoredSurface surface = layer_surface("split", layer.role, layer.kind);
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  store.add_point(device, "sgd", surface, point({3, 4}, 1));
  store.add_point(device, "sgd", surface, point({5, 6}, 2));
  store.add_point(device, "sgd", probe_of(surface, Purpose::kTimedProbe), point({5, 6}, 2));
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

TEST_P(StoreContract, WhatAnOlderVersionCouldNotTellOfASurfaceIsAdded) {
  const Layer layer = parse_layers(build(parse_zoo("lenet5")), 10).at(1);
  const StoredSurface surface = layer_surface("split", layer.role, layer.kind);
  StoredSurface unknown = surface;
  unknown.kind.reset();
  const auto kind_after = [&](const StoredSurface& added) {
    Store store(path_);
    const std::string device = store.add_device({{"name", "test"}});
    store.add_point(device, "sgd", added, point({3, 4}, 1));
    return store.surfaces(device).front().surface.kind.has_value();
  };
  EXPECT_FALSE(kind_after(unknown));
  EXPECT_TRUE(kind_after(surface));
  EXPECT_TRUE(kind_after(unknown));
}

TEST_P(StoreContract, WhatIsNotCommittedIsTakenBack) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  const StoredSurface surface = empty_surface();
  {
    Store::Transaction transaction(store);
    store.add_point(device, "sgd", surface, point({0, 0}, 1));
  }
  EXPECT_TRUE(store.points(device, "sgd", surface.name).empty());
  Store::Transaction transaction(store);
  store.add_point(device, "sgd", surface, point({0, 0}, 1));
  transaction.commit();
  EXPECT_EQ(store.points(device, "sgd", surface.name).size(), 1u);
}

TEST_P(StoreContract, PointsSurviveClosing) {
  std::string id;
  {
    Store store(path_);
    id = store.add_device({{"name", "cpu"}});
    store.add_point(id, "sgd", empty_surface(), point({1, 2}, 0.25));
    store.add_point(id, "sgd", empty_surface(), point({3, 4}, 0.5));
    store.put_fact(id, "sgd", "idle", {{"power_w", 10}});
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

TEST_P(StoreContract, TheDeviceUsedLastIsFirstEvenWithinASecond) {
  Store store(path_);
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"one", "other"}) {
      const std::string id = store.add_device({{"name", name}});
      EXPECT_EQ(store.devices().front().id, id);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

TEST_P(StoreContract, DevicesAreFoundWithoutReadingAll) {
  Store store(path_);
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(store.know_device({{"name", "d" + std::to_string(i)}}));
  const std::string used = store.add_device({{"name", "used"}});
  for (const std::string& id : {ids[3], ids[7], used})
    store.add_point(id, "sgd", empty_surface(), point({0, 0}, 1));
  EXPECT_EQ(store.device(ids[5])->fingerprint.at("name"), "d5");
  EXPECT_FALSE(store.device("nonesuch"));
  EXPECT_EQ(store.device_like(ids[5].substr(0, 12))->id, ids[5]);
  EXPECT_EQ(store.device_like("")->id, used) << "the one used last";
  for (const char* no : {"z", "%", "_", "0123456789abcdef0"}) EXPECT_FALSE(store.device_like(no)) << no;
  const auto some = store.devices_with_points(0, 2);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].id, used);
  const auto rest = store.devices_with_points(2, 2);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ((std::set<std::string>{some[1].id, rest[0].id}), (std::set<std::string>{ids[3], ids[7]}));
}

TEST_P(StoreContract, DevicesAreFoundByWhatIsKnownOfThem) {
  Store store(path_);
  const std::string one = store.add_device({{"name", "one"}}), two = store.know_device({{"name", "two"}});
  store.put_fact(one, "", "fleet/board", true);
  store.put_fact(two, "", "fleet/board", true);
  store.put_fact(two, "", "fleet/other", true);
  EXPECT_EQ(store.devices_with_fact("fleet/board"), (std::vector<std::string>{one, two}));
  EXPECT_EQ(store.devices_with_fact("fleet/other"), (std::vector<std::string>{two}));
  EXPECT_TRUE(store.devices_with_fact("fleet/").empty());
  const auto found = store.devices_by_fact({"fleet/board", "fleet/other", "fleet/none"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("fleet/board").id, one) << "which was used last";
  EXPECT_EQ(found.at("fleet/other").fingerprint["name"], "two");
  EXPECT_TRUE(store.devices_by_fact({}).empty());
  EXPECT_EQ(store.devices_by_fact(std::vector<std::string>(2500, "fleet/board")).size(), 1u);
}

TEST_P(StoreContract, MuchIsAnsweredAtOnce) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  const StoredSurface probes = probe_of(empty_surface(), Purpose::kProbe);
  store.add_point(device, "sgd", probes, point({1, 1}, 1));
  store.add_point(device, "sgd", empty_surface(), point({2, 1}, 2));
  store.add_point(device, "sgd", probes, point({3, 1}, 3));
  store.add_point(device, "adam", probes, point({4, 1}, 4));
  const auto points = store.points(device, "sgd", {probes.name, empty_surface().name, "nonesuch"});
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].surface, probes.name);
  EXPECT_EQ(points[1].surface, empty_surface().name);
  EXPECT_EQ(points[2].channels.in, 3) << "as they were measured";
  EXPECT_TRUE(store.points(device, "sgd", std::vector<std::string>()).empty());
  EXPECT_TRUE(store.has_points(device, "adam"));
  EXPECT_FALSE(store.has_points(device, "momentum"));
  EXPECT_EQ(store.recipes(device), (std::vector<std::string>{"adam", "sgd"}));
  store.put_fact(device, "sgd", "a", 1);
  store.put_fact(device, "adam", "a", 2);
  store.put_fact(device, "", "b", 3);
  store.put_fact(device, "", "c", 4);
  const auto facts = store.facts(device, "sgd", {"c", "a"});
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].value, 4);
  EXPECT_EQ(facts[1].value, 1);
  EXPECT_EQ(store.facts(device, "adam", {}).size(), 1u);
}

TEST_P(StoreContract, APointIsKeptOnce) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  const StoredPoint kept = store.add_point(device, "sgd", empty_surface(), point({1, 1}, 1));
  EXPECT_EQ(kept.identity.size(), 32u);
  EXPECT_EQ(kept.surface, empty_surface().name);
  for (int i = 0; i < 3; ++i) store.add_point(device, "sgd", empty_surface(), kept);
  EXPECT_EQ(store.points(device, "sgd", kept.surface).size(), 1u);
  // The same figures measured again are another point.
  store.add_point(device, "sgd", empty_surface(), point({1, 1}, 1));
  EXPECT_EQ(store.points(device, "sgd", kept.surface).size(), 2u);
}

TEST_P(StoreContract, ManyWritersLoseAndDoubleNothing) {
  constexpr int kWriters = 8, kPoints = 25;
  std::vector<std::future<void>> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::async(std::launch::async, [this, w] {
      Store store(path_);
      const std::string device = store.add_device({{"name", "shared"}});
      for (int i = 0; i < kPoints; ++i)
        store.add_point(device, "sgd", empty_surface(), point({w + 1, i + 1}, 1));
    }));
  }
  for (auto& writer : writers) EXPECT_NO_THROW(writer.get());
  const Store store = Store::to_read(path_);
  std::set<Channels> seen;
  const auto points = store.points(store.devices().front().id, "sgd", empty_surface().name);
  for (const StoredPoint& p : points) seen.insert(p.channels);
  EXPECT_EQ(points.size(), std::size_t{kWriters * kPoints});
  EXPECT_EQ(seen.size(), std::size_t{kWriters * kPoints});
}

TEST_P(StoreContract, FirstRunsAtOnce) {
  for (int i = 0; i < 10; ++i) {
    if (on_server())
      execute("DROP SCHEMA " + schema_ + " CASCADE; CREATE SCHEMA " + schema_);
    else
      std::filesystem::remove(path_);
    std::vector<std::future<void>> runs;
    for (int run = 0; run < 4; ++run)
      runs.push_back(std::async(std::launch::async, [this] { const Store store(path_); }));
    for (auto& run : runs) EXPECT_NO_THROW(run.get());
  }
}

TEST_P(StoreContract, ThoseWhoOnlyReadMakeNothing) {
  const Store store = Store::to_read(path_);
  EXPECT_TRUE(store.devices().empty());
  if (on_server())
    EXPECT_EQ(open_postgres(path_)->schema_version(), 0);
  else
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_P(StoreContract, NewerAndDamagedVersionsAreRefused) {
  { Store store(path_); }
  set_version(99);
  EXPECT_THAT(error_on_open(), HasSubstr("newer version of ampere"));
  EXPECT_THROW(Store::to_read(path_), Error);
  set_version(-1);
  EXPECT_THAT(error_on_open(), HasSubstr("damaged"));
}

TEST_P(StoreContract, TablesOfOthersAreRefused) {
  execute("CREATE TABLE point(a INTEGER)");
  EXPECT_THAT(error_on_open(), HasSubstr("another program"));
}

TEST_P(StoreContract, PointsOfVersion2GetAnIdentity) {
  std::string device;
  {
    Store store(path_);
    device = store.add_device({{"name", "old"}});
    // Two of them equal in all.
    for (const Channels c : {Channels{1, 1}, Channels{1, 1}, Channels{2, 1}}) {
      StoredPoint p = point(c, 1);
      p.measured_at = "2026-11-16T10:00:00Z";
      store.add_point(device, "sgd", empty_surface(), p);
    }
  }
  const auto as_of_version_2 = [&] {
    execute(
        "DROP INDEX point_by_identity; DROP INDEX device_by_use; DROP INDEX fact_by_name; ALTER TABLE point "
        "DROP COLUMN identity");
    set_version(2);
  };
  const auto identities = [&] {
    const Store store(path_);
    std::vector<std::string> found;
    for (const StoredPoint& p : store.points(device, "sgd", empty_surface().name))
      found.push_back(p.identity);
    return found;
  };
  as_of_version_2();
  const auto first = identities();
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 3u);
  EXPECT_EQ(identities(), first);
  as_of_version_2();
  EXPECT_EQ(identities(), first) << "the same in every copy of the store";
}

TEST_P(StoreContract, TextsComeBackAsTheyWere) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  const std::vector<std::string> names = {
      std::string("a\0b", 3), "\xff\xfe", "caf\xc3\xa9", "\\x41", "$1 '\" %", "\x01hex:41"};
  for (const std::string& name : names) {
    StoredSurface surface = empty_surface();
    surface.name = name;
    store.add_point(device, name, surface, point({1, 1}, 1));
  }
  std::set<std::string> surfaces, recipes;
  for (const SurfaceCount& s : store.surfaces(device)) {
    surfaces.insert(s.surface.name);
    recipes.insert(s.recipe);
  }
  EXPECT_EQ(surfaces, std::set<std::string>(names.begin(), names.end()));
  EXPECT_EQ(recipes, surfaces);
  for (const std::string& name : names) EXPECT_EQ(store.points(device, name, name).size(), 1u);
}

TEST_P(StoreContract, WhatCannotBeTrueIsFoundAndRemoved) {
  Store store(path_);
  const std::string good = store.add_device({{"name", "good"}}), bad = store.add_device({{"name", "bad"}});
  for (int i = 1; i <= 3; ++i) store.add_point(good, "sgd", empty_surface(), point({i, i}, 1));
  store.add_point(bad, "sgd", empty_surface(), point({1, 1}, 1));
  store.put_fact(good, "sgd", "idle", {{"power_w", 1}});
  store.put_fact(good, "adam", "idle", {{"power_w", 1}});
  execute("UPDATE point SET measurement = '{' WHERE channels_in = 2");
  execute("UPDATE fact SET value = 'none' WHERE recipe = 'adam'");
  execute("UPDATE device SET fingerprint = '[' WHERE id = '" + bad + "'");
  EXPECT_THROW(store.points(good, "sgd", empty_surface().name), Error);
  EXPECT_THROW(store.facts(good), Error);
  const auto problems = store.problems();
  ASSERT_EQ(problems.size(), 3u);
  for (const StoreProblem& p : problems) store.remove(p);
  EXPECT_TRUE(store.problems().empty());
  EXPECT_EQ(store.points(good, "sgd", empty_surface().name).size(), 2u);
  EXPECT_EQ(store.facts(good).size(), 1u);
  EXPECT_EQ(store.devices().size(), 1u);
  EXPECT_FALSE(store.remove_point(123456789));
}

TEST_P(StoreContract, ProfilesTravelAndComeBack) {
  Store here(path_), there(other_);
  const std::string device = here.add_device({{"name", "test"}});
  for (int i = 1; i <= 3; ++i) here.add_point(device, "sgd", empty_surface(), point({i, i}, 1));
  here.put_fact(device, "sgd", "idle", {{"power_w", 1}});
  EXPECT_EQ(merge_store(there, here).points, 3);
  EXPECT_EQ(merge_store(there, here).points_known, 3);
  there.add_point(device, "sgd", empty_surface(), point({9, 9}, 1));
  const ImportSummary back = merge_store(here, there);
  EXPECT_EQ(back.points, 1);
  EXPECT_EQ(back.points_known, 3);
  EXPECT_EQ(here.points(device, "sgd", empty_surface().name).size(), 4u);
}

// What only a server can do: go away, and refuse.
class Server : public StoreContract {
 protected:
  void end_connections() const {
    open_postgres(test_server())
        ->execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
            "datname = current_database()");
  }
  // Another database of the same server.
  static std::string elsewhere() {
    const char* address = std::getenv("AMPERE_TEST_POSTGRESQL_ADMIN");
    return address ? address : test_server();
  }
};
INSTANTIATE_TEST_SUITE_P(Real, Server, testing::Values("server"),
                         [](const auto& place) { return std::string(place.param); });

TEST_P(Server, ALostConnectionIsMadeAgain) {
  Store store(path_);
  const std::string device = store.add_device({{"name", "test"}});
  store.add_point(device, "sgd", empty_surface(), point({1, 1}, 1));
  end_connections();
  EXPECT_EQ(store.points(device, "sgd", empty_surface().name).size(), 1u);
  end_connections();
  store.add_point(device, "sgd", empty_surface(), point({2, 2}, 1));
  EXPECT_EQ(store.aside(), "");
  end_connections();
  store.put_fact(device, "sgd", "idle", {{"power_w", 1}});
  EXPECT_EQ(store.points(device, "sgd", empty_surface().name).size(), 2u);
  Store::Transaction transaction(store);
  store.add_point(device, "sgd", empty_surface(), point({3, 3}, 1));
  end_connections();
  EXPECT_THROW(store.add_point(device, "sgd", empty_surface(), point({4, 4}, 1)), Error);
}

TEST_P(Server, PointsWaitInAFileUntilItIsBack) {
  setenv("AMPERE_STORE_TIMEOUT", "0.5", 1);
  const auto admin = open_postgres(elsewhere());
  const std::string database =
      open_postgres(test_server())->query("SELECT current_database()", {}).at(0).text(0);
  const auto away = [&](bool yes) {
    admin->execute("ALTER DATABASE " + database + " ALLOW_CONNECTIONS " + (yes ? "false" : "true"));
    if (yes) {
      admin->execute(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
          "datname = '" +
          database + "'");
    }
  };
  std::string device, waiting;
  {
    Store store(path_);
    device = store.add_device({{"name", "test"}});
    store.add_point(device, "sgd", empty_surface(), point({1, 1}, 1));
    away(true);
    for (int i = 2; i <= 4; ++i) store.add_point(device, "sgd", empty_surface(), point({i, i}, 1));
    store.put_fact(device, "sgd", "idle", {{"power_w", 7}});
    waiting = store.aside();
    EXPECT_EQ(Store(waiting).points(device, "sgd", empty_surface().name).size(), 3u);
    EXPECT_THROW(store.points(device, "sgd", empty_surface().name), ServerAway);
    EXPECT_THROW(Store{path_}, ServerAway);
    std::filesystem::copy_file(waiting, other_);
    away(false);
    // This run delivers what it kept, as soon as it can.
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    store.add_point(device, "sgd", empty_surface(), point({5, 5}, 1));
    EXPECT_EQ(store.aside(), "");
    EXPECT_EQ(store.points(device, "sgd", empty_surface().name).size(), 5u);
    EXPECT_EQ(store.fact(device, "sgd", "idle")->at("power_w"), 7);
  }
  // The same file once more, as after a delivery that was cut off: nothing is doubled.
  std::filesystem::copy_file(other_, waiting, std::filesystem::copy_options::overwrite_existing);
  Store store(path_);  // the next run
  EXPECT_EQ(store.points(device, "sgd", empty_surface().name).size(), 5u);
  EXPECT_TRUE(Store(waiting).points(device, "sgd", empty_surface().name).empty());
  std::filesystem::copy_file(other_, waiting, std::filesystem::copy_options::overwrite_existing);
  const Delivery again = store.deliver();
  EXPECT_EQ(again.points, 0);
  EXPECT_EQ(again.points_known, 6) << "with those that opening it has brought";
  EXPECT_EQ(store.deliver().points_known, 0);
  unsetenv("AMPERE_STORE_TIMEOUT");
}

TEST_P(Server, ReadersReadAndWritersWrite) {
  const auto server = open_postgres(test_server());
  server->execute(
      "DROP ROLE IF EXISTS ampere_ann; DROP ROLE IF EXISTS ampere_ben; DROP ROLE IF EXISTS ampere_cy;"
      "CREATE ROLE ampere_ann LOGIN; CREATE ROLE ampere_ben LOGIN; CREATE ROLE ampere_cy LOGIN;"
      "GRANT USAGE ON SCHEMA " +
      schema_ + " TO ampere_cy");
  Store owner(path_);
  const std::string device = owner.add_device({{"name", "test"}});
  owner.add_point(device, "sgd", empty_surface(), point({1, 1}, 1));
  owner.grant("ampere_ann", false);
  owner.grant("ampere_ben", true);
  EXPECT_THROW(owner.grant("nobody\"; DROP TABLE point; --", true), Error);
  const std::string ann = path_ + "&user=ampere_ann", ben = path_ + "&user=ampere_ben";
  Store reader = Store::to_read(ann);
  EXPECT_EQ(reader.points(device, "sgd", empty_surface().name).size(), 1u);
  const auto refused = [](const auto& run) {
    try {
      run();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      return std::string(e.what());
    }
    return std::string("not refused");
  };
  EXPECT_THAT(refused([&] { Store writer(ann); }),
              HasSubstr("\"ampere_ann\" may read this store, and not write"));
  EXPECT_THAT(refused([&] {
                reader.put_fact(device, "sgd", "idle", {{"power_w", 1}});
              }),
              HasSubstr("not write"));
  EXPECT_THAT(refused([&] { reader.remove_point(1); }), HasSubstr("not write"));
  EXPECT_THAT(refused([&] { Store::to_read(path_ + "&user=ampere_cy").devices(); }),
              HasSubstr("\"ampere_cy\" may not read"));
  Store writer(ben);
  writer.add_device({{"name", "test"}});
  writer.add_point(device, "sgd", empty_surface(), point({2, 2}, 1));
  EXPECT_EQ(reader.points(device, "sgd", empty_surface().name).size(), 2u);
  // One who loses the right in the middle is told, and loses nothing that was measured.
  execute("REVOKE INSERT ON point FROM ampere_ben");
  EXPECT_THAT(refused([&] {
                writer.add_point(device, "sgd", empty_surface(), point({3, 3}, 1));
              }),
              HasSubstr("not write"));
  EXPECT_EQ(Store(writer.aside()).points(device, "sgd", empty_surface().name).size(), 1u);
  execute("GRANT INSERT ON point TO ampere_ben");
  EXPECT_EQ(Store(ben).points(device, "sgd", empty_surface().name).size(), 3u);
  owner = Store(":memory:");
  reader = Store(":memory:");
  writer = Store(":memory:");
  server->execute(
      "DROP OWNED BY ampere_ann, ampere_ben, ampere_cy; DROP ROLE ampere_ann, ampere_ben, ampere_cy");
}

TEST_P(Server, AServerThatIsNotThereIsTold) {
  for (const auto& [address, word] : std::vector<std::pair<std::string, std::string>>{
           {"postgresql://ann:geheim@127.0.0.1:1/x", "cannot be reached"},
           {"postgresql://ann:geheim@127.0.0.1:1/x?nonsense=1", "no address"},
           {"postgresql://ann:geheim@127.0.0.1:port/x", "no address|cannot be reached|invalid"},
           {"service=nonesuch password=geheim", "no address"}}) {
    try {
      Store store(address);
      FAIL() << address;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::ContainsRegex(word));
      EXPECT_THAT(e.what(), testing::Not(HasSubstr("geheim")));
    }
  }
}

}  // namespace
}  // namespace ampere
