#include "base/quantity_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace ampere {
namespace {

TEST(QuantityText, EnergiesInEveryUnit) {
  const std::pair<const char*, double> cases[] = {
      {"15Wh", 54000}, {"15 Wh", 54000},         {" 2kWh ", 7.2e6},    {"40J", 40},
      {"3 kJ", 3000},  {"1.5MJ", 1.5e6},         {"250mWh", 900},      {"1e3J", 1000},
      {"0Wh", 0},      {"5000mAh@3.85V", 69300}, {"2Ah @ 12V", 86400}, {"100mAh@3700mV", 1332},
  };
  for (const auto& [text, joules] : cases) EXPECT_NEAR(parse_energy(text, "x").value(), joules, 1e-6) << text;
}

TEST(QuantityText, DurationsPowersAndFractions) {
  EXPECT_DOUBLE_EQ(parse_duration("1h30min", "x").value(), 5400);
  EXPECT_DOUBLE_EQ(parse_duration("2 d 5 s", "x").value(), 172805);
  EXPECT_DOUBLE_EQ(parse_duration("250ms", "x").value(), 0.25);
  EXPECT_DOUBLE_EQ(parse_power("500mW", "x").value(), 0.5);
  EXPECT_DOUBLE_EQ(parse_power("1.5 kW", "x").value(), 1500);
  EXPECT_DOUBLE_EQ(parse_fraction("5%", "x"), 0.05);
  EXPECT_DOUBLE_EQ(parse_fraction("0.25", "x"), 0.25);
}

template <class Parse>
std::string refusal(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "no error";
}

TEST(QuantityText, RefusesWhatCannotBeMeant) {
  auto energy = [](const std::string& t) { parse_energy(t, "--battery"); };
  for (const char* text : {"", " ", "Wh", "fifteen", "nanWh", "infJ", "15Whh", "15Wh 3", "15W", "1e999J",
                           "1e305MJ", "3mAh@", "3mAh@4", "15WH", "0x10J", "+5J", "15", "-3Wh", "5000mAh"}) {
    EXPECT_EQ(refusal(energy, text).rfind("--battery: \"", 0), 0u) << text << ": " << refusal(energy, text);
  }
  EXPECT_NE(refusal(energy, "15").find("has no unit"), std::string::npos);
  EXPECT_NE(refusal(energy, "-3Wh").find("must not be negative"), std::string::npos);
  EXPECT_NE(refusal(energy, "5000mAh").find("at a voltage"), std::string::npos);
  EXPECT_NE(refusal(energy, "1e305MJ").find("out of range"), std::string::npos);
  EXPECT_LT(refusal(energy, std::string(100000, 'x')).size(), 250u);
  auto duration = [](const std::string& t) { parse_duration(t, "deadline"); };
  for (const char* text : {"", "5", "h", "1h30", "5 fortnights", "-1h", "nan s", "1h-5min"})
    EXPECT_EQ(refusal(duration, text).rfind("deadline: \"", 0), 0u) << text;
  auto risk = [](const std::string& t) { parse_fraction(t, "--risk", 0.001, 0.5); };
  for (const char* text : {"", "%", "5%%", "60%", "0", "-5%", "nan", "5 percent"})
    EXPECT_EQ(refusal(risk, text).rfind("--risk: \"", 0), 0u) << text;
  EXPECT_NE(refusal(risk, "60%").find("between 0.1% and 50%"), std::string::npos);
}

}  // namespace
}  // namespace ampere
