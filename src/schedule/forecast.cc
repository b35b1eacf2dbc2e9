#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "ampere/schedule.h"
#include "base/error.h"
#include "schedule/problem.h"

namespace ampere {
namespace {

constexpr double kHourSeconds = 3600;
constexpr double kJoulesOfKwh = 3.6e6;
constexpr std::size_t kMostRates = 10000;  // more than a year by the hour
constexpr double kMostRate = 1e9;
constexpr std::size_t kMostBytes = 1 << 20;

std::optional<double> number_of(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

void check(const Forecast& f) {
  if (f.rates.empty()) throw bad_input("a forecast needs at least one hour");
  for (std::size_t i = 0; i < f.rates.size(); ++i) {
    const bool ordered = i == 0 ? f.rates[i].from_s == 0 : f.rates[i].from_s > f.rates[i - 1].from_s;
    if (!ordered) throw bad_input("the hours of a forecast must begin at 0 and rise");
    if (!(std::abs(f.rates[i].per_kwh) <= kMostRate))
      throw bad_input("a forecast has a figure that is absurd");
  }
  if (!(f.end_s > f.rates.back().from_s)) throw bad_input("a forecast must end behind its last hour");
}

double Forecast::mean_per_kwh(double start_s, double until_s) const {
  double highest = rates.front().per_kwh;
  for (const Rate& rate : rates) highest = std::max(highest, rate.per_kwh);
  const double stop_s = until_s > start_s ? until_s : start_s + kLeastJobSeconds;
  // Behind its end nobody knows, so it counts as the worst that was told: nothing is moved there.
  double sum = highest * std::max(0.0, stop_s - std::max(start_s, end_s));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double from = rates[i].from_s, to = i + 1 < rates.size() ? rates[i + 1].from_s : end_s;
    sum += rates[i].per_kwh * std::max(0.0, std::min(stop_s, to) - std::max(start_s, from));
  }
  return sum / (stop_s - start_s);
}

Forecast read_forecast(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw bad_input(path + ": cannot be read");
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes) throw bad_input(path + ": too large for a forecast");
  std::istringstream file(text);
  Forecast forecast;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    const std::size_t comma = line.find(',');
    const auto hour = number_of(std::string_view(line).substr(0, comma));
    const auto value =
        comma == std::string::npos ? std::nullopt : number_of(std::string_view(line).substr(comma + 1));
    if (!hour && forecast.rates.empty() && comma != std::string::npos && !value) continue;  // a header
    if (!hour || !value || *hour < 0 || *hour > 1e6 || std::abs(*value) > kMostRate)
      throw bad_input(path + " line " + std::to_string(number) +
                      ": write the hour from now and what a kWh costs or emits then, such as 0,0.31");
    if (forecast.rates.size() == kMostRates) throw bad_input(path + ": more than 10000 hours");
    if (!forecast.rates.empty() && kHourSeconds * *hour <= forecast.rates.back().from_s)
      throw bad_input(path + " line " + std::to_string(number) + ": hours must rise");
    forecast.rates.push_back({kHourSeconds * *hour, *value});
  }
  if (forecast.rates.empty()) throw bad_input(path + ": has no hours; write lines such as 0,0.31");
  if (forecast.rates.front().from_s != 0) throw bad_input(path + ": begins at hour 0, which is now");
  forecast.end_s = forecast.rates.back().from_s + kHourSeconds;
  return forecast;
}

double forecast_cost(const Problem& problem, const std::vector<PlannedJob>& jobs, const Forecast& forecast) {
  check(forecast);
  double sum = 0;
  for (const PlannedJob& p : jobs) {
    const JobCost& cost = *problem.jobs[p.job].costs[p.device];
    const double run_s = std::min(cost.time_s.median, p.end_s - p.start_s);
    sum += cost.energy_j.mean() / kJoulesOfKwh * forecast.mean_per_kwh(p.start_s, p.start_s + run_s);
  }
  return sum;
}

}  // namespace ampere
