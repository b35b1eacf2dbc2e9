#include "model/data_sheet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "model/device_profile.h"
#include "model/sheet_belief.h"
#include "model/sheet_power.h"

namespace ampere {
namespace {

Json card() {
  return {{"name", "Some card"},
          {"float32_flops_per_s", 20e12},
          {"half_flops_per_s", 160e12},
          {"bytes_per_s", 1e12},
          {"limit_w", 300},
          {"source", "its data sheet, 2026"}};
}

std::string refusal(const Json& json) {
  try {
    data_sheet_from(json, "card.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "";
}

TEST(DataSheetTest, WhatNobodyStatesIsBelieved) {
  const DataSheet sheet = data_sheet_from(card(), "card.json");
  EXPECT_TRUE(sheet.accelerator);
  EXPECT_EQ(sheet.peak.flops_per_s, (std::array<double, kArithmetics>{20e12, 20e12, 160e12}));
  EXPECT_GT(sheet.peak.launch_s, 0);
  EXPECT_GT(sheet.idle_w, 0);
  EXPECT_LT(sheet.idle_w, sheet.limit_w);
  EXPECT_LT(sheet.roof().bytes_per_s, sheet.peak.bytes_per_s);
  EXPECT_EQ(to_json(data_sheet_from(to_json(sheet), "again")), to_json(sheet));
}

TEST(DataSheetTest, RefusesWhatCannotBe) {
  struct Case {
    const char* field;
    Json value;
    const char* says;
  };
  for (const Case& c : std::vector<Case>{{"float32_flops_per_s", 67, "67 TFLOP/s are 67e12"},
                                         {"bytes_per_s", 900, "900 GB/s are 900e9"},
                                         {"half_flops_per_s", -1e12, "half_flops_per_s"},
                                         {"limit_w", 0, "limit_w"},
                                         {"limit_w", "300 W", "limit_w"},
                                         {"idle_w", 300, "idle_w"},
                                         {"launch_s", 2, "launch_s"},
                                         {"type", "tpu", "type"},
                                         {"name", "", "name"},
                                         {"name", std::string(300, 'x'), "name"},
                                         {"source", "", "source"},
                                         {"driver_names", Json::array({1}), "driver_names"},
                                         {"tflops", 20, "tflops"}}) {
    Json json = card();
    json[c.field] = c.value;
    EXPECT_NE(refusal(json).find(c.says), std::string::npos) << c.field << ": " << refusal(json);
  }
  for (const char* field : {"name", "float32_flops_per_s", "bytes_per_s", "limit_w", "source"}) {
    Json json = card();
    json.erase(field);
    EXPECT_NE(refusal(json).find(field), std::string::npos) << field;
  }
  EXPECT_NE(refusal(Json::array()), "");
}

TEST(DataSheetTest, TextsAreMadeHarmless) {
  Json json = card();
  json["name"] = "red \x1b[31m\nline";
  EXPECT_EQ(data_sheet_from(json, "card.json").name, "red \\x1b[31m\\nline");
}

TEST(DataSheetTest, TheTableIsWhole) {
  const std::vector<std::string> names = data_sheet_names();
  EXPECT_GE(names.size(), 19U);
  for (const std::string& name : names) {
    const DataSheet sheet = find_data_sheet(name);
    EXPECT_LE(sheet.peak.flops_per_s[0], sheet.peak.flops_per_s[2]) << name;
    EXPECT_LE(sheet.peak.flops_per_s[1], sheet.peak.flops_per_s[2]) << name;
    for (const std::string& driver : sheet.driver_names)
      EXPECT_EQ(data_sheet_of_device(driver)->name, sheet.name) << "two sheets are of " << driver;
  }
  EXPECT_EQ(find_data_sheet("H200").name, data_sheet_of_device("NVIDIA H200")->name);
  EXPECT_FALSE(data_sheet_of_device("AMD EPYC"));
  EXPECT_FALSE(data_sheet_of_device(""));
}

TEST(DataSheetTest, FilesAreSheetsToo) {
  const auto path = std::filesystem::temp_directory_path() / "ampere_data_sheet_test.json";
  std::ofstream(path) << card().dump();
  EXPECT_EQ(find_data_sheet(path).name, "Some card");
  std::ofstream(path) << "{";
  EXPECT_THROW(find_data_sheet(path), Error);
  std::filesystem::remove(path);
  try {
    find_data_sheet("h900");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a100-40, "), std::string::npos) << e.what();
  }
}

TEST(DataSheetTest, ADeviceIsKnownByItsName) {
  Store store(":memory:");
  const std::string h200 = store.add_device({{"name", "NVIDIA H200"}, {"type", "cuda"}, {"meter", "nvml"}});
  const std::string other = store.add_device({{"name", "AMD EPYC"}, {"type", "cpu"}, {"meter", "rapl"}});
  const DeviceProfile known(store, h200, "r"), unknown(store, other, "r");
  ASSERT_TRUE(known.sheet());
  EXPECT_EQ(known.sheet()->name, "NVIDIA H200 SXM");
  EXPECT_FALSE(known.is_sheet());
  EXPECT_FALSE(known.idle_power_w()) << "what can be measured is not believed";
  EXPECT_FALSE(unknown.sheet());
}

TEST(DataSheetTest, ASheetIsADeviceOfItsOwn) {
  Store store = store_of_sheet(find_data_sheet("t4"));
  const DeviceProfile profile(store, store.devices().front().id, "r");
  EXPECT_TRUE(profile.is_sheet());
  EXPECT_TRUE(profile.two_clocks());
  EXPECT_DOUBLE_EQ(*profile.idle_power_w(), find_data_sheet("t4").idle_w);
  // One that somebody has damaged is told as such.
  store.put_fact(profile.device(), "", "sheet", {{"name", "T4"}});
  EXPECT_THROW(DeviceProfile(store, profile.device(), "r").sheet(), Error);
}

TEST(SheetPowerTest, LiesBetweenIdleAndLimit) {
  const DataSheet sheet = data_sheet_from(card(), "card.json");
  OpWork product;
  product.family = OpFamily::kProduct;
  product.flops = 20e9;  // a millisecond at the peak
  product.bytes = 1e6;
  double before = 0;
  for (const double time_s : {1.0, 1e-2, 2e-3, 1e-3, 1e-4}) {
    const double watts = std::exp(sheet_log_power(sheet, product, time_s));
    EXPECT_GT(watts, before) << "the busier, the more";
    EXPECT_GE(watts, sheet.idle_w);
    EXPECT_LE(watts, sheet.limit_w * (1 + 1e-9));
    before = watts * (1 - 1e-9);
  }
  EXPECT_TRUE(std::isfinite(sheet_log_power(sheet, OpWork{}, 1e-6)));
}

TEST(SheetBeliefTest, MeasurementsNarrowIt) {
  const Eigen::MatrixXd prior = Eigen::MatrixXd::Constant(2, 2, 0.5) + Eigen::MatrixXd::Identity(2, 2);
  const std::vector<AskedOfSheet> asked(2);
  double before = 1e9;
  for (const std::size_t measured : {0, 1, 10, 1000}) {
    const Eigen::MatrixXd belief = energy_belief(prior, asked, measured);
    EXPECT_LT(belief(0, 0), before);
    EXPECT_GT(belief(0, 1), 0);
    before = belief(0, 0);
  }
  // What was measured is not made less sure, and what nobody has described stays as unsure as it is.
  const Eigen::MatrixXd known = Eigen::MatrixXd::Identity(2, 2) * 1e-4;
  EXPECT_NEAR(time_belief(known, {{true, true}, {true, true}}, 1)(0, 0), 1e-4, 1e-7);
  EXPECT_GT(time_belief(prior, {{false, false}, {false, true}}, 0)(0, 0), std::expm1(1.5));
}

}  // namespace
}  // namespace ampere
