#include "ampere/tariff.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

#include "base/embedded.h"
#include "base/error.h"
#include "base/plain_text.h"

AMPERE_EMBEDDED(carbon, AMPERE_CARBON)

namespace ampere {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
constexpr std::size_t kLongestCurrency = 8;
// Nothing that is sold costs more, in whatever currency, and no plant emits more.
constexpr double kMostPerKwh = 1e9;

[[noreturn]] void wrong_rate(const std::string& option, const std::string& text,
                             const std::string& expected) {
  const std::string shown = text.size() > 60 ? text.substr(0, 57) + "..." : text;
  throw bad_input(option + ": \"" + plain_line(shown) + "\" cannot be read; " + expected);
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The number at the front, which is taken off; absent: there is none, or one below zero.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0 && value <= kMostPerKwh)) return std::nullopt;
  text = without_blanks(text.substr(static_cast<std::size_t>(end - text.data())));
  return value;
}

// Takes "/kWh" or "/MWh" off the end; the factor from such a rate to one per kWh, 0 where there is none.
double take_per_energy(std::string_view& text) {
  for (const auto& [unit, factor] : {std::pair{"kWh", 1.0}, std::pair{"MWh", 1e-3}}) {
    const std::string_view name(unit);
    if (text.size() < name.size() || text.substr(text.size() - name.size()) != name) continue;
    std::string_view rest = without_blanks(text.substr(0, text.size() - name.size()));
    if (rest.empty() || rest.back() != '/') continue;
    rest.remove_suffix(1);
    text = without_blanks(rest);
    return factor;
  }
  return 0;
}

// Letters, or one sign: "EUR", "$", "€".
bool is_currency(std::string_view text) {
  if (text.empty() || text.size() > kLongestCurrency) return false;
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (std::all_of(text.begin(), text.end(), letter) || text == "$") return true;
  const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  return std::all_of(text.begin(), text.end(), beyond_ascii);
}

void read_price(Tariff& tariff, const std::string& text) {
  const std::string expected =
      "write what a kWh costs, such as 0.30/kWh, 0.30EUR/kWh, $0.12/kWh or 95EUR/MWh";
  std::string_view rest = without_blanks(text);
  const double factor = is_utf8(text) ? take_per_energy(rest) : 0;
  if (!(factor > 0)) wrong_rate("--price", text, expected);
  const std::size_t digits = rest.find_first_of("0123456789.-+");
  std::string_view sign = without_blanks(rest.substr(0, digits));
  if (digits == std::string_view::npos) wrong_rate("--price", text, expected);
  rest = rest.substr(digits);
  const std::optional<double> price = take_number(rest);
  if (!price || (!sign.empty() && !rest.empty())) wrong_rate("--price", text, expected);
  if (sign.empty()) sign = rest;
  if (!sign.empty() && !is_currency(sign)) wrong_rate("--price", text, expected);
  tariff.price_per_kwh = *price * factor;
  tariff.currency = std::string(sign);
}

void read_carbon(Tariff& tariff, const std::string& text) {
  const std::string expected =
      "write grams of CO2 equivalent, such as 380g/kWh, or a country by its two letters, such as FR";
  std::string_view rest = without_blanks(text);
  if (rest.size() == 2 && std::isalpha(static_cast<unsigned char>(rest[0]))) {
    std::string code(rest);
    for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string known;
    for (const GridCarbon& row : grid_carbon()) {
      known += (known.empty() ? "" : ", ") + row.code;
      if (row.code != code) continue;
      tariff.carbon_g_per_kwh = row.g_per_kwh;
      tariff.carbon_source = row.country + ", " + std::to_string(row.year);
      return;
    }
    throw bad_input("--carbon: there is no country \"" + plain_line(code) + "\" in the table (known: " +
                    known + "); write what its electricity emits instead, such as 380g/kWh");
  }
  const double per_energy = take_per_energy(rest);
  const std::optional<double> number = per_energy > 0 ? take_number(rest) : std::nullopt;
  const double unit = rest == "g" ? 1 : rest == "kg" ? 1e3 : 0;
  if (!number || !(unit > 0)) wrong_rate("--carbon", text, expected);
  tariff.carbon_g_per_kwh = *number * unit * per_energy;
  tariff.carbon_source = "given";
}

Interval times(const Interval& i, double factor) {
  return {i.value * factor, i.low * factor, i.high * factor};
}

std::vector<GridCarbon> read_table() {
  std::istringstream lines{std::string(embedded_carbon())};
  std::vector<GridCarbon> rows;
  bool header = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    GridCarbon row;
    std::string grams, year;
    std::getline(cells, row.code, ',');
    std::getline(cells, row.country, ',');
    std::getline(cells, grams, ',');
    std::getline(cells, year, ',');
    if (!header) {
      row.g_per_kwh = std::stod(grams);
      row.year = std::stoi(year);
      rows.push_back(row);
    }
    header = false;
  }
  return rows;
}

}  // namespace

const std::vector<GridCarbon>& grid_carbon() {
  static const std::vector<GridCarbon> kRows = read_table();
  return kRows;
}

Tariff tariff_of(const std::string& price, const std::string& carbon) {
  Tariff tariff;
  if (!price.empty()) read_price(tariff, price);
  if (!carbon.empty()) read_carbon(tariff, carbon);
  return tariff;
}

Bill bill_of(const Tariff& tariff, const Interval& energy_j) {
  Bill bill;
  bill.energy_kwh = times(energy_j, 1 / kJoulesPerKwh);
  if (tariff.price_per_kwh) bill.cost = times(bill.energy_kwh, *tariff.price_per_kwh);
  if (tariff.carbon_g_per_kwh) bill.carbon_g = times(bill.energy_kwh, *tariff.carbon_g_per_kwh);
  return bill;
}

}  // namespace ampere
