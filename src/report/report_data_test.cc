#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "report/profiled_for_test.h"
#include "report/report.h"

namespace ampere {
namespace {

using testing::HasSubstr;

Json data_of(ProfiledForTest& profiled, const ReportOptions& options = {}) {
  return report_data(&*profiled.store, &profiled.device, {}, options);
}

ReportOptions asking_for(const std::string& model) {
  ReportOptions options;
  options.networks = {{build(parse_zoo(model)), 8, Recipe().word()}};
  return options;
}

TEST(ReportData, KindsOfSplitAreToldByTheirOwnPoints) {
  // No whole network was trained, and none is asked for. ResNets have joins, depthwise layers are in
  // mobilenets.
  for (const char* model : {"lenet5", "resnet18:w1=4,w2=4,w3=4,w4=4", "lstm", "transformer"}) {
    SCOPED_TRACE(model);
    ProfiledForTest profiled("kinds", model);
    const Json data = data_of(profiled);
    const auto layers = group_layers(parse_layers(build(parse_zoo(model)), 8));
    EXPECT_EQ(data["surfaces"].size(), layers.size());
    EXPECT_EQ(data["unknown_surfaces"], Json::array());
  }
}

TEST(ReportData, SurfacesSayWhatTheModelSays) {
  ProfiledForTest profiled("surfaces");
  const Json data = data_of(profiled, asking_for("lenet5"));
  int one = 0, two = 0;
  for (const Json& s : data["surfaces"]) {
    const Json& energy = s["quantities"]["energy_j"];
    ASSERT_FALSE(energy["points"].empty());
    (s["axes"].size() == 2 ? two : one)++;
    if (s["axes"].size() == 2) {
      EXPECT_EQ(energy["mean"].size(), energy["x"].size() * energy["y"].size());
      EXPECT_EQ(energy["deviation"].size(), energy["mean"].size());
      continue;
    }
    for (std::size_t i = 0; i < energy["x"].size(); ++i) {
      EXPECT_LE(energy["low"][i], energy["mean"][i]);
      EXPECT_GE(energy["high"][i], energy["mean"][i]);
    }
    // Where it was measured, the curve goes through.
    const Json& p = energy["points"][0];
    const std::size_t axis = s["axes"][0] == "out" ? 1 : 0;
    for (std::size_t i = 0; i < energy["x"].size(); ++i) {
      if (energy["x"][i] != p[axis]) continue;
      EXPECT_NEAR(energy["mean"][i].get<double>() / p[2].get<double>(), 1, 0.02);
    }
  }
  EXPECT_EQ(one, 2);
  EXPECT_EQ(two, 2);
}

TEST(ReportData, StepsGrowUntilAllPointsAreThere) {
  ProfiledForTest profiled("steps");
  const Json data = data_of(profiled);
  for (const Json& s : data["surfaces"]) {
    const Json& fits = s["steps"]["fits"];
    const Json& points = s["quantities"][s["steps"]["quantity"].get<std::string>()]["points"];
    ASSERT_FALSE(fits.empty());
    for (std::size_t i = 1; i < fits.size(); ++i) EXPECT_GT(fits[i]["points"], fits[i - 1]["points"]);
    EXPECT_EQ(fits.back()["points"], points.size());
    EXPECT_LT(fits.back()["largest_deviation"], 0.2);
  }
}

TEST(ReportData, TheStoreKnowsWhatPaperSurfacesSubtract) {
  ProfiledForTest profiled("paper", "lenet5", "paper");
  EXPECT_EQ(data_of(profiled)["unknown_surfaces"], Json::array());
  ReportOptions options = asking_for("lenet5");
  options.method = "paper";
  const Json data = data_of(profiled, options);
  EXPECT_EQ(data["unknown_surfaces"], Json::array());
  EXPECT_EQ(data["estimates"].size(), 1u);
  EXPECT_EQ(data["estimates"][0]["layers"].size(), 5u);
}

TEST(ReportData, AnAcceleratorsEnergiesComeFromFewPoints) {
  ProfiledForTest profiled("accelerator", "cnn5", "split", true);
  const Json data = data_of(profiled, asking_for("cnn5"));
  for (const Json& s : data["surfaces"]) {
    ASSERT_TRUE(s["quantities"].contains("energy_j"));
    EXPECT_LE(s["quantities"]["energy_j"]["points"].size(), s["quantities"]["time_s"]["points"].size());
  }
  EXPECT_EQ(data["device"]["idle_power_w"], 8);
  EXPECT_TRUE(data["estimates"][0].contains("host_time_s"));
}

TEST(ReportData, WhatWasAskedForAndIsNotKnownIsToldAsSuch) {
  ProfiledForTest profiled("missing");
  try {
    ReportOptions options = asking_for("lstm");
    options.networks[0].recipe = "sgd-bf16-t1";
    data_of(profiled, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNotProfiled);
  }
}

TEST(ReportPage, TextOfFilesIsNeverMarkup) {
  const std::string hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>@DATA@";
  Results results;
  results.curves = {{{"file", hostile}, {"curves", Json::array()}}};
  ReportOptions options;
  options.title = hostile;
  const Json data = report_data(nullptr, nullptr, results, options);
  const std::string page = report_page(data);
  // The page is too long to be printed by a matcher.
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  EXPECT_NE(page.find("<title>&lt;/script&gt;"), std::string::npos);
  // Exactly the scripts of the page, and the data is still JSON.
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  EXPECT_EQ(Json::parse(page.substr(from, page.find("</script>", from) - from)), data);
}

class ResultsTest : public testing::Test {
 protected:
  ResultsTest() { std::filesystem::create_directories(folder_); }
  ~ResultsTest() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  std::string why_refused(const std::string& path) {
    try {
      read_results({path});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
      return e.what();
    }
    return "not refused";
  }
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "ampere-results-test";
};

TEST_F(ResultsTest, FilesAreToldApartByTheirFields) {
  write("a.json", R"({"methods": {"split": {"mape": 0.1}}, "networks": [
    {"network": "n", "energy_j": 2, "estimates": {"split": {"energy_j": 3}}}]})");
  write("b.json", R"({"curves": [{"network": "n", "points": [{"energy_j": 1}]}]})");
  write("t.json", R"({"budget_share": 0.5, "networks": [{"label": "original", "energy_j": 8, "curve": [
    {"iteration": 0, "energy_j": 0, "test_loss": null, "test_accuracy": 0.1}]}]})");
  write(
      "s.json",
      R"({"model": "n", "objective": "energy", "present": 0, "best": 0, "outcomes": [{"batch": 8, "recipe": "r",
    "power_limit_w": 300, "energy_j": 2, "energy_low_j": 1, "energy_high_j": 3, "time_s": 5, "time_low_s": 4,
    "time_high_s": 6, "on_front": true}]})");
  write("c.json", R"({"something": "else"})");
  write("d.txt", "no JSON at all");
  const Results r = read_results({folder_.string()});
  EXPECT_EQ(r.evaluations.size(), 1u);
  EXPECT_EQ(r.evaluations[0]["networks"][0]["estimates"][0][0], 3);
  ASSERT_EQ(r.curves.size(), 2u);
  EXPECT_EQ(r.curves[1]["budget_j"], 4);
  EXPECT_EQ(r.curves[1]["curves"][0]["points"][0], Json({0, 0, nullptr, 0.1}));
  ASSERT_EQ(r.tunings.size(), 1u);
  EXPECT_EQ(r.tunings[0]["points"][0]["power_limit_w"], 300);
  EXPECT_EQ(r.tunings[0]["points"][0]["clock_mhz"], nullptr);
  EXPECT_THAT(r.ignored, testing::ElementsAre(HasSubstr("c.json")));
}

TEST_F(ResultsTest, WrongOnesAreRefusedWithTheirPlace) {
  EXPECT_THAT(why_refused(write("c.json", R"({"something": "else"})")), HasSubstr("c.json: not a result"));
  EXPECT_THAT(why_refused((folder_ / "absent.json").string()), HasSubstr("absent.json"));
  EXPECT_THAT(why_refused(write("e.json", R"({"methods": {"split": {"mape": "x"}}, "networks": []})")),
              HasSubstr("e.json: methods.split"));
  EXPECT_THAT(
      why_refused(write("f.json", R"({"methods": {}, "networks": [{"network": "n", "energy_j": 0}]})")),
      HasSubstr("networks[0]"));
  EXPECT_THAT(why_refused(write("g.json", R"({"curves": [{"points": 3}]})")), HasSubstr("curves[0]"));
  EXPECT_THAT(
      why_refused(write("i.json",
                        R"({"model": "n", "objective": "energy", "present": 1, "best": 0, "outcomes": []})")),
      HasSubstr("\"present\" names no outcome"));
  EXPECT_THAT(
      why_refused(write(
          "j.json", R"({"model": "n", "objective": "energy", "present": 0, "best": 0, "outcomes": [3]})")),
      HasSubstr("outcomes[0]"));
  EXPECT_THAT(why_refused(write("h.json", "{")), HasSubstr("h.json"));
}

}  // namespace
}  // namespace ampere
