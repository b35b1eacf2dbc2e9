#include "base/quantity_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ampere {
namespace {

using Units = std::vector<std::pair<std::string_view, double>>;

const Units kEnergies = {{"Wh", 3600}, {"kWh", 3.6e6}, {"mWh", 3.6}, {"J", 1},
                         {"kJ", 1e3},  {"MJ", 1e6},    {"mJ", 1e-3}};
const Units kCharges = {{"mAh", 3.6}, {"Ah", 3600}};  // in coulombs
const Units kVoltages = {{"V", 1}, {"mV", 1e-3}};
const Units kDurations = {{"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}, {"d", 86400}};
const Units kBytes = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},     {"GB", 1e9},
                      {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
const Units kPowers = {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}};

// Reads from the front of a text; what cannot be read makes one message that quotes all of it.
class Reader {
 public:
  Reader(const std::string& text, const std::string& what, std::string expected)
      : text_(text), what_(what), expected_(std::move(expected)), rest_(text) {
    skip_blanks();
  }

  bool done() const { return rest_.empty(); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }

  double number() {
    if (rest_.substr(0, 1) == "-") fail("must not be negative; ");
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) fail("is out of range; ");
    if (error != std::errc() || !std::isfinite(value)) fail("");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip_blanks();
    return value;
  }

  // The factor of the unit that comes next.
  double unit(const Units& known) {
    if (rest_.empty()) fail("has no unit; ");
    std::size_t length = 0;
    while (length < rest_.size() && is_letter(rest_[length])) ++length;
    for (const auto& [name, factor] : known) {
      if (rest_.substr(0, length) != name) continue;
      rest_.remove_prefix(length);
      skip_blanks();
      return factor;
    }
    return 0;
  }

  [[noreturn]] void fail(const char* why) const {
    const std::string shown = text_.size() > 60 ? text_.substr(0, 57) + "..." : text_;
    throw bad_input(what_ + ": \"" + shown + "\" " + (*why ? why : "cannot be read; ") + expected_);
  }

  double finite(double value) const {
    if (!std::isfinite(value)) fail("is out of range; ");
    return value;
  }

 private:
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  const std::string& text_;
  const std::string& what_;
  std::string expected_;
  std::string_view rest_;
};

}  // namespace

Joules parse_energy(const std::string& text, const std::string& what) {
  Reader r(text, what, "write an energy with its unit, such as 15Wh, 2kWh, 40J, 3kJ or 5000mAh@3.85V");
  const double number = r.number();
  if (const double factor = r.unit(kEnergies); factor > 0 && r.done())
    return Joules(r.finite(number * factor));
  const double coulombs = r.unit(kCharges);
  if (!(coulombs > 0)) r.fail("");
  if (!r.take('@')) r.fail("is a charge, and becomes an energy only at a voltage; ");
  const double volts = r.number();
  const double factor = r.unit(kVoltages);
  if (!(factor > 0) || !r.done()) r.fail("");
  return Joules(r.finite(number * coulombs * volts * factor));
}

Seconds parse_duration(const std::string& text, const std::string& what) {
  Reader r(text, what, "write a duration with its unit, such as 90s, 45min, 2h or 1h30min");
  double sum = 0;
  do {
    const double number = r.number();
    const double factor = r.unit(kDurations);
    if (!(factor > 0)) r.fail("");
    sum += number * factor;
  } while (!r.done());
  return Seconds(r.finite(sum));
}

Watts parse_power(const std::string& text, const std::string& what) {
  Reader r(text, what, "write a power with its unit, such as 10W or 500mW");
  const double number = r.number();
  const double factor = r.unit(kPowers);
  if (!(factor > 0) || !r.done()) r.fail("");
  return Watts(r.finite(number * factor));
}

double parse_bytes(const std::string& text, const std::string& what) {
  Reader r(text, what, "write bytes with their unit, such as 4GiB, 512MiB or 8GB");
  const double number = r.number();
  const double factor = r.unit(kBytes);
  if (!(factor > 0) || !r.done()) r.fail("");
  return r.finite(number * factor);
}

std::string bytes_text(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  char text[40];
  std::snprintf(text, sizeof text, bytes < 10 ? "%.2f %s" : bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, unit);
  return text;
}

double parse_fraction(const std::string& text, const std::string& what, double low, double high) {
  auto percent = [](double fraction) {
    std::string digits = std::to_string(100 * fraction);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits + "%";
  };
  Reader r(text, what,
           "write a share between " + percent(low) + " and " + percent(high) + ", such as 5% or 0.05");
  const double number = r.number();
  const double fraction = r.take('%') ? number / 100 : number;
  if (!r.done()) r.fail("");
  if (!(fraction >= low && fraction <= high)) r.fail("is out of range; ");
  return fraction;
}

}  // namespace ampere
