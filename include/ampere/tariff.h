// What energy costs: money and greenhouse gases per kWh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"

namespace ampere {

struct Tariff {
  std::optional<double> price_per_kwh = {};     // in `currency`; absent: not asked
  std::string currency = {};                    // as it was written: "EUR", "$"; may be empty
  std::optional<double> carbon_g_per_kwh = {};  // grams of CO2 equivalent; absent: not asked
  std::string carbon_source = {};               // "given", or the country and the year of the table

  bool empty() const { return !price_per_kwh && !carbon_g_per_kwh; }
};

// `price`: "0.30/kWh", "0.30EUR/kWh", "$120/MWh". `carbon`: "380g/kWh", "0.38kg/kWh", or the two letters of a
// country in data/carbon.csv ("FR"), which is part of the library. Empty: not asked. Throws Error{kBadInput}
// that says what was expected.
Tariff tariff_of(const std::string& price, const std::string& carbon);

// What an energy costs. The factors count as known, so the intervals are as wide as the energy's.
struct Bill {
  Interval energy_kwh;
  std::optional<Interval> cost = {};      // in the tariff's currency
  std::optional<Interval> carbon_g = {};  // grams of CO2 equivalent
};
Bill bill_of(const Tariff& tariff, const Interval& energy_j);

// One row of data/carbon.csv.
struct GridCarbon {
  std::string code;     // ISO 3166-1 alpha-2: "FR"
  std::string country;  // "France"
  double g_per_kwh = 0;
  int year = 0;
};
// All rows, by code.
const std::vector<GridCarbon>& grid_carbon();

}  // namespace ampere
