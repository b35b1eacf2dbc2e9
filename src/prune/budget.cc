#include "prune/budget.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace ampere {
namespace {

// The number a text starts with, and the rest. Spaces between them do not matter.
std::pair<double, std::string> number_and_rest(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return {-1, ""};
  std::string rest(end);
  rest.erase(0, rest.find_first_not_of(' '));
  return {number, rest};
}

constexpr std::pair<const char*, double> kUnits[] = {{"mJ", 1e-3}, {"J", 1},     {"kJ", 1e3},   {"MJ", 1e6},
                                                     {"mWh", 3.6}, {"Wh", 3600}, {"kWh", 3.6e6}};

}  // namespace

Budget parse_budget(const std::string& text) {
  const auto [number, rest] = number_and_rest(text);
  const Error wrong = bad_input("a budget of \"" + text +
                                "\" is not understood; give a share (50%), or energy in mJ, J, kJ, MJ, mWh, "
                                "Wh or kWh per iteration (40J/iter) or per job (2kWh/job)");
  if (rest.empty()) throw wrong;
  if (!(number > 0)) throw bad_input("a budget must be above 0, found \"" + text + "\"");
  if (rest == "%") {
    if (number > 100)
      throw bad_input("a budget of " + text + " is more than the network takes as it is: nothing to prune");
    return {Budget::Of::kShare, number / 100};
  }
  const auto slash = rest.find('/');
  if (slash == std::string::npos) throw wrong;
  const std::string unit = rest.substr(0, slash), per = rest.substr(slash + 1);
  if (per != "iter" && per != "iteration" && per != "job") throw wrong;
  for (const auto& [name, joules] : kUnits) {
    if (unit == name) return {per == "job" ? Budget::Of::kJob : Budget::Of::kIteration, number * joules};
  }
  throw wrong;
}

double parse_percent(const std::string& text, const std::string& what) {
  const auto [number, rest] = number_and_rest(text);
  if (rest != "%" || !(number >= 0 && number <= 100))
    throw bad_input(what + " must be a percentage from 0% to 100%, found \"" + text + "\"");
  return number / 100;
}

double joules_per_iteration(const Budget& budget, double original_j, double iterations) {
  switch (budget.of) {
    case Budget::Of::kShare:
      return budget.amount * original_j;
    case Budget::Of::kIteration:
      return budget.amount;
    default:
      if (!(iterations > 0))
        throw bad_input("a budget per job needs the job: --samples per epoch, and --epochs");
      return budget.amount / iterations;
  }
}

}  // namespace ampere
