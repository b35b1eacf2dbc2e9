// Rows of bench/limits/measure.py.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tune/lever_model.h"

namespace ampere::limits {

struct MeasuredRow {
  LeverRow row;
  std::string model;      // network and batch: "resnet50 b64"
  std::string precision;  // "default", "bf16"
  double scatter = 0;     // of repeated windows, relative
  double spent_s = 0;     // what measuring it took
};

struct Measured {
  LeverDevice device;
  double most_limit_w = 0;
  std::vector<MeasuredRow> rows;
  std::set<int> seen;     // watts that the profile of the device knows
  double seen_clock = 0;  // MHz that it knows; 0: none
  std::map<std::string, double>
      in_turn_s;               // by network and precision: a search limit by limit, as it was timed
  bool assumed_spent = false;  // some rows do not tell what they took
};

// `seen`: "700,400,200"; empty: the usual limit, the least one, and the one in their middle. `clock`: "1980",
// "highest" of those that were measured, or empty. Throws Error{kBadInput}.
Measured read_measured(const std::string& text, const std::string& what, const std::string& seen,
                       const std::string& clock);

// Whether the profile of the device knows it.
bool is_seen(const Measured& measured, const MeasuredRow& row);

// The network and precision of this name at the usual limit; null where that was not measured.
const MeasuredRow* usual_of(const Measured& measured, const std::string& network);

// Networks whose usual limit was measured, in the order of their names.
std::vector<std::string> models_of(const Measured& measured);

}  // namespace ampere::limits
