// --price and --carbon: what energy costs, in money and greenhouse gases.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ampere/tariff.h"
#include "answers/tariff_json.h"

namespace ampere {

struct TariffOptions {
  std::string price;   // empty: not asked
  std::string carbon;  // empty: not asked

  Tariff tariff() const { return tariff_of(price, carbon); }
};

void add_tariff_options(CLI::App& verb, TariffOptions& options);

// "0.30 EUR/kWh; 56 g CO2e/kWh (France, 2023)"
std::string tariff_text(const Tariff& tariff);
// "0.0123 EUR", "12.3 kg CO2e"
std::string money_text(double amount, const std::string& currency);
std::string carbon_text(double grams);
// "0.0123 (0.0115 to 0.0131) EUR"
std::string cost_text(const Interval& cost, const std::string& currency);
// "12.3 (11.5 to 13.1) kg", of CO2 equivalent
std::string carbon_text(const Interval& grams);
// "1.2 kWh, 0.36 EUR (0.34 to 0.38 EUR), 67 g CO2e (63 g to 71 g)"
std::string bill_text(const Tariff& tariff, const Interval& energy_j);

}  // namespace ampere
