#include "meter/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "meter/environment_for_test.h"

namespace ampere {
namespace {

using testing::HasSubstr;

TEST(OpenMeter, OpensByNameAndByEnvironment) {
  EXPECT_EQ(open_meter("cpu-model")->info().name, "cpu-model");
  const Environment chosen("AMPERE_METER", "cpu-model");
  EXPECT_EQ(open_meter("")->info().name, "cpu-model");
}

TEST(OpenMeter, UnknownNamesListTheKnownOnes) {
  try {
    open_meter("rpal");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("cpu-model"));
  }
}

TEST(OpenMeter, SaysHowANameIsWritten) {
  EXPECT_THROW(open_meter("cpu-model:3"), Error);
  EXPECT_THROW(open_meter("replay"), Error);
}

TEST(SameMeter, ArgumentsAreNoPartOfTheName) {
  for (const auto& [asked, told] :
       std::vector<std::pair<std::string, std::string>>{{"rapl", "rapl"},
                                                        {"nvml:0,1", "nvml"},
                                                        {"nvml:0+rapl", "nvml+rapl"},
                                                        {"exec:read +1", "exec"},
                                                        {"rapl+exec:a+b", "rapl+exec"},
                                                        {"exec:a", "exec:a"},
                                                        {"replay:run.jsonl", "anything"}}) {
    EXPECT_TRUE(same_meter(asked, told)) << asked << " " << told;
  }
  for (const auto& [asked, told] : std::vector<std::pair<std::string, std::string>>{{"rapl", "cpu-model"},
                                                                                    {"rapl", "rapl-perf"},
                                                                                    {"nvml+rapl", "nvml"},
                                                                                    {"nvml", ""},
                                                                                    {"nvml:0", "rapl"}}) {
    EXPECT_FALSE(same_meter(asked, told)) << asked << " " << told;
  }
}

TEST(ListMeters, EveryMeterIsAvailableOrSaysWhy) {
  for (const MeterStatus& status : list_meters()) {
    EXPECT_FALSE(status.info.name.empty());
    EXPECT_EQ(status.available, status.why.empty()) << status.info.name;
  }
}

TEST(ListMeters, TheDefaultCanBeOpened) { EXPECT_NO_THROW(open_meter(default_meter_name())); }

}  // namespace
}  // namespace ampere
