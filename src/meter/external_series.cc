#include "meter/external_series.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace ampere {
namespace {

constexpr Seconds kLeastPatience{2};
constexpr double kPatience = 10;

[[noreturn]] void malformed(const std::string& line) {
  throw bad_input(
      "external meter: cannot understand the line '" + line.substr(0, 120) +
      "'; expected 'TIME VALUE UNIT', 'VALUE UNIT' (W, mW, J, mJ, Wh) or JSON with power_w or energy_j");
}

ExternalSample from_json(const std::string& line) {
  const Json json = parse_json(line, "external meter");
  const JsonReader reader(json, "external meter");
  reader.only({"at_s", "power_w", "energy_j"});
  if (reader.has("power_w") == reader.has("energy_j")) malformed(line);
  ExternalSample sample;
  if (reader.has("at_s")) sample.stamp = Seconds(reader.number("at_s"));
  sample.cumulative = reader.has("energy_j");
  sample.value = reader.number(sample.cumulative ? "energy_j" : "power_w");
  return sample;
}

std::optional<double> to_number(const std::string& word) {
  std::istringstream stream(word);
  stream.imbue(std::locale::classic());
  double value = 0;
  if (!(stream >> value) || !stream.eof() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Unit {
  const char* word;
  double factor;
  bool cumulative;
};
constexpr Unit kUnits[] = {
    {"W", 1, false}, {"mW", 1e-3, false}, {"J", 1, true}, {"mJ", 1e-3, true}, {"Wh", 3600, true},
};

}  // namespace

std::optional<ExternalSample> parse_external_line(const std::string& line) {
  std::string text = line;
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty() || words.front().front() == '#') return std::nullopt;
  if (words.front().front() == '{') return from_json(line);
  if (words.size() != 2 && words.size() != 3) malformed(line);

  ExternalSample sample;
  const auto value = to_number(words[words.size() - 2]);
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                 [&](const Unit& known) { return words.back() == known.word; });
  if (!value || unit == std::end(kUnits)) malformed(line);
  sample.value = *value * unit->factor;
  sample.cumulative = unit->cumulative;
  if (words.size() == 3) {
    const auto stamp = to_number(words.front());
    if (!stamp) malformed(line);
    sample.stamp = Seconds(*stamp);
  }
  return sample;
}

void ExternalSeries::add(const ExternalSample& sample, Seconds arrival) {
  const Seconds stamp = sample.stamp.value_or(arrival);
  if (samples_ > 0 && stamp <= stamp_) return;
  const Seconds offset = sample.stamp ? arrival - stamp : Seconds(0);
  offset_ = has_offset_ ? std::min(offset_, offset) : offset;
  has_offset_ = true;

  const Seconds step = stamp - stamp_;
  const Joules counter(sample.cumulative ? sample.value : 0);
  if (samples_ > 0) {
    if (counter < counter_) {
      throw Error(ErrorKind::kNoMeter, "external meter: the energy counter ran backwards, from " +
                                           std::to_string(counter_.value()) + " to " +
                                           std::to_string(counter.value()) + " J");
    }
    const Watts power = sample.cumulative ? (counter - counter_) / step : Watts(sample.value);
    energy_ += sample.cumulative ? counter - counter_ : (power_ + power) / 2 * step;
    power_ = power;
    spacing_ = std::max(spacing_, step);
  } else if (!sample.cumulative) {
    power_ = Watts(sample.value);
  }
  counter_ = counter;
  stamp_ = stamp;
  ++samples_;
}

Joules ExternalSeries::energy_at(Seconds moment) {
  if (!ready()) throw Error(ErrorKind::kNoMeter, "external meter: fewer than two samples have arrived");
  const Seconds age = moment - (stamp_ + offset_);
  if (age > std::max(spacing_ * kPatience, kLeastPatience)) {
    throw Error(ErrorKind::kNoMeter, "external meter: no sample for " + std::to_string(age.value()) +
                                         " s; is the power monitor still connected?");
  }
  // Carrying on may have promised more than the next sample brings: what was told stays told.
  const Joules carried = energy_ + power_ * std::max(age, Seconds(0));
  return told_ = std::max(told_, carried);
}

}  // namespace ampere
