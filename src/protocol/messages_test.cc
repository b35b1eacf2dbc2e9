#include "protocol/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "measure/measurement.h"
#include "measure/request.h"

namespace ampere {
namespace {

using testing::HasSubstr;

Network tiny() {
  Network network("tiny");
  network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{8}}});
  network.add(Op::kLinear, {0}, {{"out_features", std::int64_t{4}}});
  return network;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.kind() == ErrorKind::kBadInput ? e.what() : "wrong kind";
  }
  return "nothing was thrown";
}

// Through the text, as it travels.
Json travelled(const Json& json) { return parse_json(json.dump(), "message"); }

rc::Gen<double> positive() {
  return rc::gen::map(rc::gen::inRange(-4000, 4000), [](int e) { return std::pow(10.0, e / 1000.0); });
}

RC_GTEST_PROP(Messages, RecipesSurviveTheTrip, (bool autotune, bool deterministic, std::int64_t seed)) {
  Recipe recipe;
  recipe.optimizer = *rc::gen::element<std::string>("sgd", "momentum", "adam");
  recipe.precision = *rc::gen::element<std::string>("default", "fp32", "tf32", "bf16");
  recipe.autotune = autotune;
  recipe.deterministic = deterministic;
  recipe.threads = *rc::gen::inRange(1, 4097);
  recipe.seed = seed;
  const Recipe back = recipe_from_json(travelled(to_json(recipe)));
  RC_ASSERT(to_json(back) == to_json(recipe));
  RC_ASSERT(back.word() == recipe.word());
}

RC_GTEST_PROP(Messages, MeasureRequestsSurviveTheTrip,
              (bool replay, bool loss, bool input_grad, bool energy, bool discard_first, std::string meter)) {
  MeasureRequest request;
  request.network = tiny();
  request.batch = *rc::gen::inRange<std::int64_t>(1, 100000);
  request.mode = replay ? MeasureMode::kReplay : MeasureMode::kEager;
  request.loss = loss;
  request.phase = *rc::gen::element(Phase::kIteration, Phase::kForward, Phase::kBackward, Phase::kUpdate);
  request.energy = energy;
  request.discard_first = discard_first;
  request.input_grad = input_grad;
  request.meter = meter.substr(0, 3) == "rap" ? meter : "rapl";
  request.target_error = *rc::gen::inRange(1, 1000) / 1000.0;
  request.window_s = *rc::gen::inRange(1, 1000) / 7.0;
  request.warm_up_s = *rc::gen::inRange(0, 1000) / 7.0;
  request.budget_s = *rc::gen::inRange(1, 10000) / 7.0;
  request.min_windows = *rc::gen::inRange(1, 1001);
  request.min_ticks = *rc::gen::inRange(1, 1001);
  const MeasureRequest back = measure_request_from_json(travelled(to_json(request)));
  RC_ASSERT(to_json(back) == to_json(request));
  RC_ASSERT(back.phase == request.phase);
  RC_ASSERT(back.energy == energy);
  RC_ASSERT(back.discard_first == discard_first);
  RC_ASSERT(back.min_ticks == request.min_ticks);
}

// A worker that was written before they came would refuse them.
TEST(Messages, NewerFieldsAreSentOnlyWhenTheyMatter) {
  MeasureRequest request;
  request.network = tiny();
  for (const char* field : {"phase", "energy", "discard_first", "min_ticks"}) {
    EXPECT_FALSE(to_json(request).contains(field)) << field;
  }
  request.phase = Phase::kUpdate;
  request.energy = false;
  request.min_ticks = 3;
  EXPECT_EQ(to_json(request).at("phase"), "update");
  EXPECT_EQ(to_json(request).at("energy"), false);
  EXPECT_EQ(to_json(request).at("min_ticks"), 3);
}

RC_GTEST_PROP(Messages, MeasurementsSurviveTheTrip,
              (bool metered, bool has_host, bool stable, bool modelled)) {
  Measurement m;
  if (metered) m.energy_j = *positive();
  if (has_host) m.host_s = *positive();
  if (stable) m.discrepancy = -0.01;
  if (metered) m.metering_overhead = 0.002;
  m.time_s = *positive();
  m.energy_error = *rc::gen::inRange(0, 1000) / 999.0;
  m.time_error = *rc::gen::inRange(0, 1000) / 999.0;
  m.windows = *rc::gen::inRange(0, 1000);
  m.outliers = *rc::gen::inRange(0, 1000);
  m.iterations = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  m.stable = stable;
  m.modelled = modelled;
  m.meter = "rapl";
  m.mode = stable ? "eager" : "replay";
  if (stable) m.kernels = {"gemm~0a1b2c3d", "relu~00000001"};
  m.note = "anything \"goes\"\nhere: \u00e9";
  m.before.temperature_c = 41.5;
  m.after.clock_mhz = 1980;
  m.after.throttle = {"power"};
  RC_ASSERT(to_json(measurement_from_json(travelled(to_json(m)))) == to_json(m));
}

TEST(Messages, KernelsAreFewNamesEachOnce) {
  Json json = {{"time_s", 1}, {"kernels", {"relu", "gemm", "relu"}}};
  EXPECT_EQ(measurement_from_json(json).kernels, (std::vector<std::string>{"gemm", "relu"}));
  for (const Json& bad : {Json("gemm"), Json::array({1, 2}), Json::array({""}),
                          Json::array({std::string(1000, 'x')}), Json(std::vector<std::string>(2000, "x"))}) {
    json["kernels"] = bad;
    EXPECT_THROW(measurement_from_json(json), Error);
  }
}

TEST(Messages, LinesSurviveTheTrip) {
  const Request request{7, "measure", {{"a", 1}}};
  const Request back = request_from_line(to_line(request));
  EXPECT_EQ(back.id, 7);
  EXPECT_EQ(back.verb, "measure");
  EXPECT_EQ(back.params, request.params);
  EXPECT_EQ(request_from_line(R"({"id": 1, "verb": "detect"})").params, Json::object());

  const Response good = response_from_line(result_line(7, {{"b", 2}}));
  EXPECT_EQ(good.id, 7);
  EXPECT_FALSE(good.error);
  EXPECT_EQ(good.result, Json({{"b", 2}}));

  const Response bad = response_from_line(error_line(8, Error(ErrorKind::kOutOfMemory, "too\nlarge")));
  EXPECT_EQ(bad.id, 8);
  ASSERT_TRUE(bad.error);
  EXPECT_EQ(bad.error->kind(), ErrorKind::kOutOfMemory);
  EXPECT_STREQ(bad.error->what(), "too\nlarge");
}

TEST(Messages, ALineIsAlwaysOneLine) {
  for (const std::string& text :
       {std::string("two\nlines"), std::string("\xff\xfe not UTF-8"), std::string(3, '\0')}) {
    const std::string line = error_line(1, Error(ErrorKind::kFailed, text));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(response_from_line(line).error);
  }
}

TEST(Messages, ErrorsOfWorkersSaySomethingAndNotTooMuch) {
  for (const char* nothing : {"", " \n"}) {
    EXPECT_THAT(response_from_line(error_line(1, Error(ErrorKind::kFailed, nothing))).error->what(),
                HasSubstr("without saying why"));
  }
  const Error long_winded(ErrorKind::kForwardFailed, "a" + std::string(100000, 'x') + "z");
  const Response response = response_from_line(error_line(1, long_winded));
  EXPECT_EQ(response.error->kind(), ErrorKind::kForwardFailed);
  EXPECT_LE(std::string(response.error->what()).size(), 4096u);
  EXPECT_EQ(std::string(response.error->what()).back(), 'z');
}

TEST(Messages, UnmeasuredIsNullAndMayBeMissing) {
  const Measurement m = measurement_from_json({{"energy_j", nullptr}, {"time_s", 0.1}});
  EXPECT_FALSE(m.energy_j);
  EXPECT_FALSE(m.host_s);
  EXPECT_FALSE(measurement_from_json({{"time_s", 0.1}}).energy_j);
  EXPECT_TRUE(to_json(m).at("energy_j").is_null());
}

TEST(Messages, FiguresThatCannotBeTrueAreRefused) {
  const struct {
    const char* json;
    const char* says;
  } rows[] = {
      {R"({"energy_j": -1, "time_s": 0.1})", "cannot be"},
      {R"({"energy_j": 0, "time_s": 0.1})", "cannot be"},
      {R"({"energy_j": 1, "time_s": 0})", "cannot be"},
      {R"({"energy_j": 1, "time_s": -0.1})", "cannot be"},
      {R"({"energy_j": 1, "time_s": 0.1, "host_s": -1})", "cannot be"},
      {R"({"energy_j": 5e-324, "time_s": 0.1})", "\"energy_j\" of an iteration cannot be"},
      {R"({"energy_j": 1e300, "time_s": 0.1})", "\"energy_j\" of an iteration cannot be 1e+300 J"},
      {R"({"energy_j": 1, "time_s": 5e-324})", "\"time_s\" of an iteration cannot be"},
      {R"({"energy_j": 1, "time_s": 1e300})", "\"time_s\" of an iteration cannot be 1e+300 s"},
      {R"({"energy_j": 1, "time_s": 0.1, "host_s": 1e7})", "\"host_s\" of an iteration cannot be 1e+07 s"},
      {R"({"energy_j": 1, "time_s": 1e-9})", "\"energy_j / time_s\" of an iteration cannot be 1e+09 W"},
      {R"({"energy_j": "NaN", "time_s": 0.1})", "\"energy_j\" must be a number"},
      {R"({"energy_j": 1})", "\"time_s\" is missing"},
      {R"({"energy_j": 1, "time_s": null})", "\"time_s\" must be a number"},
      {R"({"energy_j": 1, "time_s": 1, "energy_error": -0.1})", "\"energy_error\" must be between"},
      {R"({"energy_j": 1, "time_s": 1, "windows": 2.5})", "\"windows\" must be a whole number"},
      {R"({"energy_j": 1, "time_s": 1, "windows": 1e300})", "\"windows\" must be a whole number"},
      {R"({"energy_j": 1, "time_s": 1, "iterations": -4})", "\"iterations\" must be between"},
      {R"({"energy_j": 1, "time_s": 1, "stable": "yes"})", "\"stable\" must be true or false"},
      {R"({"energy_j": 1, "time_s": 1, "before": 3})", "\"before\" must be an object"},
      {R"([])", "expected a JSON object"},
  };
  for (const auto& row : rows) {
    const Json json = parse_json(row.json, "row");
    EXPECT_THAT(error_of([&] { measurement_from_json(json); }), HasSubstr(row.says)) << row.json;
  }
  EXPECT_THAT(error_of([] { parse_json(R"({"energy_j": NaN})", "line"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of([] { parse_json(R"({"energy_j": 1e999})", "line"); }), HasSubstr("not valid JSON"));
  Measurement infinite;
  infinite.time_s = std::nan("");
  EXPECT_THAT(error_of([&] { measurement_from_json(travelled(to_json(infinite))); }),
              HasSubstr("\"time_s\""));
}

TEST(Messages, RequestsThatMakeNoSenseAreRefused) {
  const Json good = to_json([] {
    MeasureRequest request;
    request.network = tiny();
    return request;
  }());
  measure_request_from_json(good);
  const struct {
    const char* field;
    Json value;
    const char* says;
  } rows[] = {
      {"batch", "ten", "\"batch\" must be a whole number"},
      {"batch", 1.5, "\"batch\" must be a whole number"},
      {"mode", "fast", "\"mode\" must be one of eager, replay"},
      {"loss", 1, "\"loss\" must be true or false"},
      {"target_error", 0, "\"target_error\" must be between"},
      {"budget_s", -1, "\"budget_s\" must be between"},
      {"budget_s", 1e9, "\"budget_s\" must be between"},
      {"window_s", "long", "\"window_s\" must be a number"},
      {"min_windows", 0, "\"min_windows\" must be between"},
      {"min_windows", 2.5, "\"min_windows\" must be a whole number"},
      {"min_ticks", 0, "\"min_ticks\" must be between"},
      {"min_ticks", 1001, "\"min_ticks\" must be between"},
      {"phase", "sideways", "\"phase\" must be one of iteration, forward, backward, update"},
      {"energy", "no", "\"energy\" must be true or false"},
      {"network", Json::array(), "\"network\" must be an object"},
      {"network", Json::object(), "\"nodes\" is missing"},
      {"recipe", {{"optimizer", "lion"}}, "\"optimizer\" must be one of sgd, momentum, adam"},
      {"recipe", {{"precision", "fp8"}}, "\"precision\" must be one of"},
      {"recipe", {{"threads", 0}}, "\"threads\" must be between"},
      {"recipe", {{"threads", 1.5}}, "\"threads\" must be a whole number"},
      {"recipe", {{"momentum", 0.9}}, "unknown field \"momentum\""},
      {"bach", 3, "unknown field \"bach\""},
  };
  for (const auto& row : rows) {
    Json changed = good;
    changed[row.field] = row.value;
    EXPECT_THAT(error_of([&] { measure_request_from_json(changed); }), HasSubstr(row.says)) << row.field;
  }
  for (const char* field : {"network", "batch"}) {
    Json less = good;
    less.erase(field);
    EXPECT_THAT(error_of([&] { measure_request_from_json(less); }), HasSubstr("is missing")) << field;
  }
}

TEST(Messages, LinesThatMakeNoSenseAreRefused) {
  for (const char* line :
       {"", "hello", "[]", "{", R"({"verb": "hello"})", R"({"id": "7", "verb": "hello"})", R"({"id": 7})",
        R"({"id": 7, "verb": "x", "params": []})", R"({"id": 7, "verb": "x", "extra": 1})",
        R"({"id": 18446744073709551615, "verb": "x"})"}) {
    EXPECT_THAT(error_of([&] { request_from_line(line); }), HasSubstr("request")) << line;
  }
  for (const char* line : {"", "3", R"({"id": 7})", R"({"id": 7, "ok": 1})", R"({"id": 7, "ok": true})",
                           R"({"id": 7, "ok": true, "result": 3})", R"({"id": 7, "ok": false})",
                           R"({"id": 7, "ok": false, "error": "bad"})",
                           R"({"id": 7, "ok": false, "error": {"kind": "failed"}})"}) {
    EXPECT_NE(error_of([&] { response_from_line(line); }), "nothing was thrown") << line;
  }
}

}  // namespace
}  // namespace ampere
