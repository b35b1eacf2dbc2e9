#include "meter/external_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "meter/external_series.h"
#include "meter/fixture_for_test.h"

namespace ampere {
namespace {

TEST(ExternalLine, Formats) {
  struct Given {
    const char* line;
    double stamp;  // negative: none
    double value;
    bool cumulative;
  };
  const Given given[] = {
      {"1731650000.25 12.5 W", 1731650000.25, 12.5, false},
      {"3.5,1500,mW", 3.5, 1.5, false},
      {"12.5 W", -1, 12.5, false},
      {"7 2 Wh", 7, 7200, true},
      {"0.5, 340.25, J", 0.5, 340.25, true},
      {R"({"at_s":2,"power_w":3})", 2, 3, false},
      {R"({"energy_j":3})", -1, 3, true},
  };
  for (const Given& expected : given) {
    const auto sample = parse_external_line(expected.line);
    ASSERT_TRUE(sample) << expected.line;
    EXPECT_EQ(sample->stamp.value_or(Seconds(-1)).value(), expected.stamp);
    EXPECT_NEAR(sample->value, expected.value, 1e-9);
    EXPECT_EQ(sample->cumulative, expected.cumulative);
  }
  EXPECT_FALSE(parse_external_line(""));
  EXPECT_FALSE(parse_external_line("# time power"));
  for (const char* line : {"12", "1 2 3 W", "x W", "1 2 kW", "nan W", "{}", R"({"at_s":1,"watts":2})", "{"}) {
    EXPECT_THROW(parse_external_line(line), Error) << line;
  }
}

TEST(ExternalSeries, IntegratesWattsAndCarriesTheLastOn) {
  ExternalSeries series;
  series.add({Seconds(0), 10, false}, Seconds(100));
  EXPECT_THROW(series.energy_at(Seconds(100)), Error);
  series.add({Seconds(1), 20, false}, Seconds(101));
  EXPECT_NEAR(series.energy_at(Seconds(101)).value(), 15, 1e-9);
  EXPECT_NEAR(series.energy_at(Seconds(101.5)).value(), 25, 1e-9);
}

TEST(ExternalSeries, TheLeastDelayedLineTellsTheClockOffset) {
  ExternalSeries series;
  series.add({Seconds(1000), 10, false}, Seconds(5.9));  // delayed by 0.8 s
  series.add({Seconds(1001), 10, false}, Seconds(6.1));  // at once: the offset is 994.9
  series.add({Seconds(1002), 10, false}, Seconds(7.6));  // delayed by 0.5 s
  EXPECT_NEAR(series.energy_at(Seconds(7.1)).value(), 20, 1e-9);
}

TEST(ExternalSeries, CountersMayStartAnywhereButNotFall) {
  ExternalSeries series;
  series.add({std::nullopt, 5000, true}, Seconds(1));
  series.add({std::nullopt, 5030, true}, Seconds(2));
  EXPECT_NEAR(series.energy_at(Seconds(2)).value(), 30, 1e-9);
  EXPECT_NEAR(series.energy_at(Seconds(2.1)).value(), 33, 1e-9);
  series.add({std::nullopt, 5030.5, true}, Seconds(3));
  EXPECT_NEAR(series.energy_at(Seconds(3)).value(), 33, 1e-9);  // never less than was told
  EXPECT_THROW(series.add({std::nullopt, 4000, true}, Seconds(4)), Error);
}

TEST(ExternalSeries, SilenceIsAnError) {
  ExternalSeries series;
  series.add({Seconds(0), 10, false}, Seconds(0));
  series.add({Seconds(0.1), 10, false}, Seconds(0.1));
  EXPECT_NO_THROW(series.energy_at(Seconds(1)));
  EXPECT_THROW(series.energy_at(Seconds(3)), Error);
}

TEST(ExecMeter, ReadsWhatACommandPrints) {
  const auto meter = make_exec_meter("while true; do echo 20 W; sleep 0.02; done", Seconds(60));
  const Reading first = meter->read();
  Reading last = first;
  while (last.at - first.at < Seconds(0.1)) {
    last = meter->read();
    EXPECT_GE(last.energy, first.energy);
  }
  EXPECT_NEAR((last.energy - first.energy) / (last.at - first.at) / Watts(20), 1, 1e-6);
}

ErrorKind kind_thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::kFailed;
}

TEST(ExecMeter, SaysWhenTheCommandFails) {
  EXPECT_EQ(kind_thrown([] { make_exec_meter("exit 3"); }), ErrorKind::kNoMeter);
  EXPECT_EQ(kind_thrown([] { make_exec_meter("echo hello world again; sleep 60"); }), ErrorKind::kBadInput);
  EXPECT_EQ(kind_thrown([] { make_exec_meter("sleep 60", Seconds(0.05)); }), ErrorKind::kNoMeter);
}

TEST(ExecMeter, DisappearsWithItsCommand) {
  EXPECT_EQ(kind_thrown([&] {
              const auto meter = make_exec_meter("echo 5 W; sleep 0.01; echo 5 W");
              while (true) meter->read();
            }),
            ErrorKind::kNoMeter);
}

TEST(LogMeter, FollowsAGrowingFile) {
  Fixture folder("");
  const std::string path = (folder.root() / "power.log").string();
  std::ofstream log(path);
  log << "garbage from before\n1 ha" << std::flush;
  std::thread monitor([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    log << "lf a line\n" << std::flush;
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      log << i << " 10 W\n" << std::flush;
    }
  });
  const auto meter = make_log_meter(path, Seconds(60));
  monitor.join();
  EXPECT_GE(meter->read().energy.value(), 10);
  EXPECT_EQ(kind_thrown([] { make_log_meter("/nowhere/power.log"); }), ErrorKind::kNoMeter);
}

}  // namespace
}  // namespace ampere
