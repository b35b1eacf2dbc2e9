#include "meter/replay_meter.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "meter/scripted_meter.h"

namespace ampere {
namespace {

std::string path_for(const std::string& name) { return testing::TempDir() + "ampere_replay_" + name; }

std::string write(const std::string& name, const std::string& text) {
  std::ofstream(path_for(name)) << text;
  return path_for(name);
}

TEST(ReplayMeter, PlaysBackWhatWasRecorded) {
  const std::vector<Reading> readings = {{Joules(1.25), Seconds(0.5)}, {Joules(2.1), Seconds(1.0 / 3)}};
  const std::string path = path_for("round_trip.jsonl");
  {
    const auto recorder = make_recording_meter(std::make_unique<ScriptedMeter>(readings), path);
    recorder->read();
    recorder->read();
  }
  ReplayMeter replay(path);
  EXPECT_EQ(replay.info().name, "scripted");
  for (const Reading& expected : readings) {
    const Reading reading = replay.read();
    EXPECT_EQ(reading.energy, expected.energy);
    EXPECT_EQ(reading.at, expected.at);
    EXPECT_EQ(replay.recorded_now(), expected.at);
  }
  EXPECT_THROW(replay.read(), Error);
}

TEST(ReplayMeter, RefusesMalformedLogs) {
  EXPECT_THROW(ReplayMeter(write("empty", "")), Error);
  EXPECT_THROW(ReplayMeter(write("text", "hello\n")), Error);
  EXPECT_THROW(ReplayMeter(write("unit", R"({"meter":"a","scope":"gpu"}
{"energy_j":"3","at_s":1})")),
               Error);
  EXPECT_THROW(ReplayMeter("/nowhere/at/all"), Error);
  EXPECT_THROW(make_recording_meter(std::make_unique<ScriptedMeter>(std::vector<Reading>{}), "/nowhere/log"),
               Error);
}

}  // namespace
}  // namespace ampere
