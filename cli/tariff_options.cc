#include "tariff_options.h"

#include <fmt/core.h>

#include <utility>

#include "text.h"

namespace ampere {
namespace {

std::string with_currency(const std::string& amount, const std::string& currency) {
  if (currency.empty()) return amount;
  return amount + " " + currency;
}

template <class Text>
std::string range_text(const Interval& i, const Text& text) {
  return fmt::format("{} ({} to {})", text(i.value), text(i.low), text(i.high));
}

}  // namespace

void add_tariff_options(CLI::App& verb, TariffOptions& o) {
  verb.add_option("--price", o.price, "What energy costs: 0.30/kWh, 0.30EUR/kWh; figures as money too");
  verb.add_option("--carbon", o.carbon, "What it emits: 380g/kWh, or a country (FR); figures as CO2e too");
}

std::string money_text(double amount, const std::string& currency) {
  return with_currency(amount >= 100 ? fmt::format("{:.0f}", amount) : fmt::format("{:.3g}", amount),
                       currency);
}

std::string cost_text(const Interval& cost, const std::string& currency) {
  const auto amount = [](double v) { return money_text(v, ""); };
  return with_currency(fmt::format("{} ({} to {})", amount(cost.value), amount(cost.low), amount(cost.high)),
                       currency);
}

std::string carbon_text(double grams) {
  if (grams >= 1e6) return fmt::format("{:.3g} t CO2e", grams / 1e6);
  if (grams >= 1e3) return fmt::format("{:.3g} kg CO2e", grams / 1e3);
  return fmt::format("{:.3g} g CO2e", grams);
}

std::string carbon_text(const Interval& grams) {
  const auto [unit, size] = grams.value >= 1e6   ? std::pair("t", 1e6)
                            : grams.value >= 1e3 ? std::pair("kg", 1e3)
                                                 : std::pair("g", 1.0);
  return fmt::format("{:.3g} ({:.3g} to {:.3g}) {}", grams.value / size, grams.low / size, grams.high / size,
                     unit);
}

std::string tariff_text(const Tariff& t) {
  std::string text;
  if (t.price_per_kwh) text = money_text(*t.price_per_kwh, t.currency) + " per kWh";
  if (t.carbon_g_per_kwh)
    text += fmt::format("{}{} per kWh ({})", text.empty() ? "" : ", ", carbon_text(*t.carbon_g_per_kwh),
                        t.carbon_source);
  return text;
}

std::string bill_text(const Tariff& tariff, const Interval& energy_j) {
  const Bill bill = bill_of(tariff, energy_j);
  std::string text = fmt::format("{:.3g} kWh", bill.energy_kwh.value);
  if (bill.cost)
    text += ", " + range_text(*bill.cost, [&](double v) { return money_text(v, tariff.currency); });
  if (bill.carbon_g)
    text += ", " + range_text(*bill.carbon_g, [](double grams) { return carbon_text(grams); });
  return text;
}

}  // namespace ampere
