#include <gtest/gtest.h>

#include <string>

#include "base/capped.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/json.h"
#include "base/units.h"

namespace ampere {
namespace {

TEST(Units, PowerTimesTimeIsEnergy) {
  EXPECT_DOUBLE_EQ((Watts(20) * Seconds(0.5)).value(), 10);
  EXPECT_DOUBLE_EQ((Joules(10) / Seconds(4)).value(), 2.5);
  EXPECT_LT(Joules(1), Joules(2));
}

TEST(Deadline, EndsWhatComputesForLonger) {
  EXPECT_NO_THROW(check_deadline());
  const Deadline far(3600);
  EXPECT_NO_THROW(check_deadline());
  {
    const Deadline near(0);
    const Deadline within(3600);  // the earlier counts
    volatile double work = 0;
    for (int i = 0; i < 1'000'000; ++i) work = work + i;
    EXPECT_THROW(check_deadline(), DeadlinePassed);
  }
  EXPECT_NO_THROW(check_deadline());
}

TEST(Error, EveryKindHasItsDocumentedExitCodeAndWord) {
  EXPECT_EQ(exit_code(ErrorKind::kFailed), 1);
  EXPECT_EQ(exit_code(ErrorKind::kBadInput), 2);
  EXPECT_EQ(exit_code(ErrorKind::kNoMeter), 3);
  EXPECT_EQ(exit_code(ErrorKind::kOverBudget), 4);
  EXPECT_EQ(exit_code(ErrorKind::kUnstable), 5);
  EXPECT_EQ(exit_code(ErrorKind::kNotProfiled), 6);
  EXPECT_EQ(exit_code(ErrorKind::kForwardFailed), 2);
  for (auto kind :
       {ErrorKind::kWorker, ErrorKind::kOutOfMemory, ErrorKind::kUnstable, ErrorKind::kForwardFailed}) {
    EXPECT_EQ(error_kind_from_word(to_word(kind)), kind);
  }
}

TEST(Capped, LongTextsLoseTheirMiddle) {
  EXPECT_EQ(capped("short", 100), "short");
  const std::string cut = capped("begin" + std::string(100000, '-') + "end");
  EXPECT_LE(cut.size(), kLongestText);
  EXPECT_EQ(cut.substr(0, 5), "begin");
  EXPECT_EQ(cut.substr(cut.size() - 3), "end");
  EXPECT_NE(cut.find("bytes left out"), std::string::npos);
}

TEST(Capped, CharactersStayWhole) {
  for (const char* character : {"\u00e9", "\u20ac", "\U0001f600"}) {
    for (std::size_t before = 0; before < 4; ++before) {
      std::string text(before, 'x');
      while (text.size() < 1000) text += character;
      EXPECT_NO_THROW(Json(capped(text, 200)).dump());  // which refuses what is not UTF-8
      EXPECT_LE(capped(text, 200).size(), 200u);
    }
  }
}

std::string message_of(const std::string& text) {
  try {
    parse_json(text, "file.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Json, ErrorsNameTheSource) {
  EXPECT_NE(message_of("{\"a\": ").find("file.json: not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("").find("file.json: not valid JSON: parse error"), std::string::npos);
  EXPECT_NE(message_of("[1e999]").find("file.json: not valid JSON: number overflow"), std::string::npos);
  EXPECT_NE(message_of(std::string(100000, '[')).find("64 levels"), std::string::npos);
}

TEST(Json, ReadsWhatItWrote) {
  const Json json = {{"a", {1, -2, 3.5, nullptr, true, "x", Json::array(), Json::object()}},
                     {"b", {{"c", {{1, 2}, {3}}}, {"", 18446744073709551615u}}}};
  EXPECT_EQ(parse_json(json.dump(), "x"), json);
  EXPECT_EQ(parse_json("[{\"a\": 1}, {\"a\": 2}]", "x").dump(), "[{\"a\":1},{\"a\":2}]");
  EXPECT_EQ(parse_json("7", "x"), Json(7));
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(parse_json(deepest, "x").dump(), deepest);
  EXPECT_NE(message_of("[" + deepest + "]").find("64 levels"), std::string::npos);
}

// Thirty bytes of memory for each byte of the file, if all were taken.
TEST(Json, MoreValuesThanAnyStoreHasAreRefused) {
  std::string text = "[0";
  for (int i = 0; i < 16'000'000; ++i) text += ",0";
  EXPECT_EQ(message_of(text + "]"), "file.json: holds more than 16 million values");
}

TEST(Json, AKeyThatComesTwiceIsRefused) {
  EXPECT_EQ(message_of(R"({"a": 1, "b": 2, "a": 1})"), "file.json: the key \"a\" is there twice");
  EXPECT_EQ(message_of(R"({"nodes": [{}, {"op": {"k": 1, "k": {}}}]})"),
            "file.json: the key \"k\" is there twice in \"nodes\"[1].\"op\"");
  EXPECT_EQ(message_of("{\"\\u001b\": 1, \"\\u001b\": 1}"), "file.json: the key \"\\u001b\" is there twice");
}

TEST(JsonReader, SaysWhichFieldAndWhatWasExpected) {
  Json json = parse_json(R"({"n": "three", "big": 18446744073709551615, "list": [1, 2.5]})", "x");
  JsonReader r(json, "node 3");
  auto expect_message = [](auto call, const std::string& part) {
    try {
      call();
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  expect_message([&] { r.integer("n"); }, "node 3: field \"n\" must be a whole number, found \"three\"");
  expect_message([&] { r.integer("missing"); }, "\"missing\" is missing");
  expect_message([&] { r.integer("big"); }, "below 2^63");
  expect_message([&] { r.integers("list"); }, "a list of whole numbers");
  expect_message([&] { r.only({"n", "big"}); }, "unknown field \"list\"");
  EXPECT_EQ(r.integer("missing", 7), 7);
}

}  // namespace
}  // namespace ampere
