#include "tune_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "common.h"
#include "measure/recipe.h"

namespace ampere {
namespace {

constexpr const char* kKnownSettings =
    "limit=300,400, clock=1300, precision=bf16,default, optimizer=sgd,adam, batch=32,64, threads=1,2 or "
    "autotune=on,off";

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    words.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

double number_in(const std::string& text, const std::string& what, double low, double high) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= low && value <= high))
    throw bad_input(
        fmt::format("--settings {}: \"{}\" is no number from {:.6g} to {:.6g}", what, text, low, high));
  return value;
}

std::int64_t count_in(const std::string& text, const std::string& what, std::int64_t high) {
  const double value = number_in(text, what, 1, static_cast<double>(high));
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) != value)
    throw bad_input(fmt::format("--settings {}: \"{}\" is no whole number", what, text));
  return whole;
}

std::string without_unit(const std::string& text, const std::string& unit) {
  if (text.size() > unit.size() && text.compare(text.size() - unit.size(), unit.size(), unit) == 0)
    return text.substr(0, text.size() - unit.size());
  return text;
}

bool one_of(const std::vector<std::string>& known, const std::string& word) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

// Networks of files and of the zoo are trained by ampere-worker, which has neither: no profile tells them.
[[noreturn]] void only_captured(const std::string& what) {
  throw bad_input(
      fmt::format("--settings: {} is not told for networks of files and of the zoo, which are never "
                  "trained so; ampere.tune() of the Python package tells it for a model of yours",
                  what));
}

void read_precision(const std::string& word, TuneOptions& o) {
  if (word == "fp16") only_captured("fp16 with scaling");
  if (!one_of(kPrecisions, word))
    throw bad_input("--settings precision: there is no \"" + word + "\"; known: default, fp32, tf32, bf16");
  o.precisions.push_back(word);
}

void read_optimizer(const std::string& word, TuneOptions& o) {
  if (word == "captured" || !one_of(kOptimizers, word))
    throw bad_input("--settings optimizer: there is no \"" + word + "\"; known: sgd, momentum, adam");
  o.optimizers.push_back(word);
}

void read_word(const std::string& key, const std::string& word, TuneOptions& o) {
  if (key == "batch") {
    o.batches.push_back(count_in(word, key, kMaxWidth));
  } else if (key == "precision") {
    read_precision(word, o);
  } else if (key == "optimizer") {
    read_optimizer(word, o);
  } else if (key == "limit") {
    o.power_limits_w.push_back(number_in(without_unit(word, "W"), key, 1, 1e5));
  } else if (key == "clock") {
    o.clocks_mhz.push_back(number_in(without_unit(word, "MHz"), key, 1, 1e5));
  } else if (key == "threads") {
    o.threads.push_back(static_cast<int>(count_in(word, key, 4096)));
  } else if (key == "autotune") {
    if (word != "on" && word != "off")
      throw bad_input("--settings autotune is on or off, not \"" + word + "\"");
    o.autotune.push_back(word == "on");
  } else if (key == "channels_last" || key == "channels-last" || key == "layout") {
    only_captured("channels last");
  } else {
    throw bad_input(
        fmt::format("--settings: there is no \"{}\"; known: batch, precision, optimizer, limit, clock, "
                    "threads, autotune",
                    key));
  }
}

}  // namespace

void read_settings(const std::vector<std::string>& given, TuneOptions& o) {
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw bad_input(fmt::format("--settings: \"{}\" cannot be read; write {}", text, kKnownSettings));
    for (const std::string& word : words_of(text.substr(equals + 1)))
      read_word(text.substr(0, equals), word, o);
  }
}

double price_per_hour(const std::string& text) {
  if (text.empty()) return 0;
  const std::string number = without_unit(text, "/h");
  std::string digits = number;
  while (!digits.empty() && std::string("0123456789.").find(digits.back()) == std::string::npos)
    digits.pop_back();
  const std::size_t first = digits.find_first_of("0123456789.");
  char* end = nullptr;
  const double price = first == std::string::npos ? -1 : std::strtod(digits.c_str() + first, &end);
  if (number == text || !(price >= 0 && price < 1e9) || end == nullptr || *end != '\0')
    throw bad_input("--device-price: \"" + text +
                    "\" cannot be read; write what an hour of the device costs, such as 2.10/h");
  return price;
}

}  // namespace ampere
