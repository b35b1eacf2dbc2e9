#include "ampere/tariff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace ampere {
namespace {

using ::testing::HasSubstr;

TEST(Tariff, ReadsPricesAsPeopleWriteThem) {
  for (const auto& [text, price, currency] :
       {std::tuple{"0.30/kWh", 0.30, ""}, std::tuple{"0.30EUR/kWh", 0.30, "EUR"},
        std::tuple{"EUR 0.30 / kWh", 0.30, "EUR"}, std::tuple{"$0.12/kWh", 0.12, "$"},
        std::tuple{"€0.3/kWh", 0.3, "€"}, std::tuple{"95 EUR/MWh", 0.095, "EUR"},
        std::tuple{"0/kWh", 0.0, ""}}) {
    const Tariff tariff = tariff_of(text, "");
    ASSERT_TRUE(tariff.price_per_kwh) << text;
    EXPECT_NEAR(*tariff.price_per_kwh, price, 1e-12) << text;
    EXPECT_EQ(tariff.currency, currency) << text;
    EXPECT_FALSE(tariff.carbon_g_per_kwh);
  }
}

TEST(Tariff, ReadsCarbonAsAFigureOrACountry) {
  EXPECT_NEAR(*tariff_of("", "380g/kWh").carbon_g_per_kwh, 380, 1e-12);
  EXPECT_NEAR(*tariff_of("", "0.38 kg/kWh").carbon_g_per_kwh, 380, 1e-9);
  EXPECT_EQ(tariff_of("", "380g/kWh").carbon_source, "given");
  const Tariff france = tariff_of("", "fr");
  EXPECT_NEAR(*france.carbon_g_per_kwh, 56, 1e-12);
  EXPECT_EQ(france.carbon_source, "France, 2023");
}

TEST(Tariff, RefusesWhatIsNoRate) {
  for (const char* text : {"0.30", "0.30/Wh", "-0.3/kWh", "kWh", "/kWh", "EUR/kWh", "EUR0.3$/kWh", "nan/kWh",
                           "1e99/kWh", "0.3 per kWh", "0,30/kWh",
                           "\xff"
                           "0.3/kWh",
                           "0.3\x1b/kWh"})
    EXPECT_THROW(tariff_of(text, ""), Error) << text;
  for (const char* text : {"380", "380g", "g/kWh", "-1g/kWh", "380t/kWh", "XX", "F", "FRA", "9R"})
    EXPECT_THROW(tariff_of("", text), Error) << text;
  try {
    tariff_of("", "xx");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("DE, DK"));
  }
}

TEST(Tariff, ABillIsAsUncertainAsTheEnergy) {
  const Bill bill = bill_of(tariff_of("0.50EUR/kWh", "400g/kWh"), {7.2e6, 3.6e6, 10.8e6});
  EXPECT_NEAR(bill.energy_kwh.value, 2, 1e-12);
  EXPECT_NEAR(bill.cost->value, 1, 1e-12);
  EXPECT_NEAR(bill.cost->low, 0.5, 1e-12);
  EXPECT_NEAR(bill.cost->high, 1.5, 1e-12);
  EXPECT_NEAR(bill.carbon_g->value, 800, 1e-9);
  EXPECT_NEAR(bill.carbon_g->high, 1200, 1e-9);
  EXPECT_FALSE(bill_of(Tariff{}, {1, 1, 1}).cost);
}

TEST(Tariff, TheTableIsSound) {
  std::set<std::string> codes;
  for (const GridCarbon& row : grid_carbon()) {
    EXPECT_EQ(row.code.size(), 2u);
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    EXPECT_FALSE(row.country.empty());
    EXPECT_GT(row.g_per_kwh, 5);
    EXPECT_LT(row.g_per_kwh, 1200);
    EXPECT_GE(row.year, 2020);
  }
  EXPECT_GT(codes.size(), 40u);
}

}  // namespace
}  // namespace ampere
