#include "fleet/fleet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ampere {
namespace {

Fleet fleet(const std::string& text) { return fleet_from_json(parse_json(text, "test"), "test"); }

TEST(FleetFile, CommandsOfWorkers) {
  const Fleet f = fleet(R"({"at_once": 3, "devices": [
    {"name": "a", "reach": "ssh jetson"},
    {"name": "b", "reach": "ssh -p 2222 me@pi", "worker": "/opt/ampere-worker"},
    {"name": "c", "reach": "srun -p gpu -w node7"},
    {"name": "d", "reach": "adb -s 0123", "worker": "/data/local/tmp/ampere-worker", "meter": "battery", "price": "0.30EUR/kWh", "carbon": "FR"},
    {"name": "e", "reach": "local", "worker": "python3 mine.py"}]})");
  EXPECT_EQ(f.at_once, 3);
  EXPECT_EQ(f.devices[0].command(), "ssh -o BatchMode=yes jetson ampere-worker");
  EXPECT_EQ(f.devices[1].command(), "ssh -o BatchMode=yes -p 2222 me@pi /opt/ampere-worker");
  EXPECT_EQ(f.devices[2].command(), "srun -p gpu -w node7 ampere-worker");
  EXPECT_EQ(f.devices[3].command(), "adb -s 0123 shell /data/local/tmp/ampere-worker");
  EXPECT_EQ(f.devices[3].meter, "battery");
  EXPECT_EQ(f.devices[3].price, "0.30EUR/kWh");
  EXPECT_EQ(f.devices[3].carbon, "FR");
  EXPECT_EQ(f.devices[4].command(), "python3 mine.py");
}

TEST(FleetFile, WhatIsNoFleetIsRefused) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"devices": []})", "no devices"},
           {R"({"devices": 3})", "devices"},
           {R"({"devices": [{"name": "a"}]})", "device 1.*reach"},
           {R"({"devices": [{"name": "a", "reach": " "}]})", "how to get there"},
           {R"({"devices": [{"name": "", "reach": "local"}]})", "a name is"},
           {R"({"devices": [{"name": "a\nb", "reach": "local"}]})", "a name is"},
           {R"({"devices": [{"name": "a", "reach": "local"}, {"name": "a", "reach": "ssh b"}]})",
            "device 2.*second"},
           {R"({"devices": [{"name": "a", "reach": "local", "speed": 3}]})", "speed"},
           {R"({"devices": [{"name": "a", "reach": "local", "price": "cheap"}]})", "device 1.*cheap"},
           {R"({"devices": [{"name": "a", "reach": "local", "carbon": "XX"}]})", "device 1.*XX"},
           {R"({"at_once": 0, "devices": [{"name": "a", "reach": "local"}]})", "at_once"}}) {
    try {
      fleet(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      EXPECT_THAT(e.what(), testing::ContainsRegex(why)) << text;
    }
  }
}

}  // namespace
}  // namespace ampere
