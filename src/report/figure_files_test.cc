#include "report/figure_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "report/profiled_for_test.h"
#include "report/report.h"

namespace ampere {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::map<std::string, FigureFile> drawn(const Json& data) {
  std::map<std::string, FigureFile> figures;
  draw_figures(data, 800, [&](int done, int of, const FigureFile& figure) {
    EXPECT_LT(done, of);
    EXPECT_TRUE(figures.emplace(figure.name, figure).second) << figure.name;
  });
  return figures;
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

Results some_results() {
  Results r;
  Json networks = Json::array();
  for (int i = 1; i <= 12; ++i)
    networks.push_back({{"name", "net<" + std::to_string(i) + ">"},
                        {"energy_j", 0.1 * i},
                        {"flops", 1e6 * i},
                        {"time_s", 0.01 * i},
                        {"estimates", {{0.11 * i, 0.08 * i, 0.13 * i}, {0.2, nullptr, nullptr}}}});
  const Json method = {{"mape", 0.1}, {"median", 0.1}, {"p95", 0.1}, {"bias", 0.1}, {"coverage", 1}};
  Json split = method, flops = method;
  split["name"] = "split";
  flops["name"] = "flops";
  r.evaluations.push_back({{"file", "a.json"},
                           {"model", "cnn5"},
                           {"batch", 10},
                           {"mode", "eager"},
                           {"recipe", "sgd"},
                           {"device", "D & <D>"},
                           {"modelled", false},
                           {"noise_floor", 0.03},
                           {"methods", {split, flops}},
                           {"networks", networks},
                           {"profiling", Json::array()}});
  r.curves.push_back(
      {{"file", "c.json"},
       {"budget_j", 2},
       {"curves", {{{"network", "original"}, {"points", {{0, 0, 2.3, 0.1}, {9, 3, 0.3, 0.9}}}}}}});
  return r;
}

TEST(FigureFiles, EveryFigureIsDrawnWithItsNumbers) {
  ProfiledForTest profiled("figures");
  ReportOptions options;
  options.networks = {{build(parse_zoo("lenet5")), 8, Recipe().word()}};
  const auto figures = drawn(report_data(&*profiled.store, &profiled.device, some_results(), options));
  std::map<std::string, int> kinds;
  for (const auto& [name, figure] : figures) {
    EXPECT_THAT(name, testing::MatchesRegex("[a-z0-9-]+"));
    EXPECT_THAT(figure.svg, StartsWith("<svg "));
    EXPECT_THAT(figure.svg, Not(HasSubstr("NaN"))) << name;
    EXPECT_GE(count(figure.svg, "<path") + count(figure.svg, "<rect"), 5) << name;
    EXPECT_GE(count(figure.csv, "\n"), 2) << name;
    ++kinds[name.substr(0, name.find('-'))];
  }
  // Four surfaces in energy and time, each after two steps.
  EXPECT_EQ(kinds["surface"], 8);
  EXPECT_EQ(kinds["steps"], 8);
  EXPECT_EQ(kinds["layers"], 2);
  EXPECT_EQ(kinds["error"], 3);
  EXPECT_EQ(kinds["curves"], 4);
  const FigureFile& scatter = figures.at("scatter-d-d-a-split");
  EXPECT_EQ(count(scatter.csv, "\n"), 13);
  EXPECT_THAT(scatter.csv, HasSubstr("net<3>,3000000,0.03,0.3"));
}

TEST(FigureFiles, NamesAreTextInSvg) {
  Results r = some_results();
  r.curves[0]["curves"][0]["network"] = "<script>alert(1)</script>";
  const auto figures = drawn(report_data(nullptr, nullptr, r, {}));
  for (const auto& [name, figure] : figures) EXPECT_THAT(figure.svg, Not(HasSubstr("<script"))) << name;
}

TEST(FigureFiles, NothingToShowIsNoFigure) {
  EXPECT_TRUE(drawn(report_data(nullptr, nullptr, {}, {})).empty());
}

}  // namespace
}  // namespace ampere
