// What other verbs wrote with --json or --output, as a report shows it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace ampere {

// Each list holds one object per file, with what the figures need and no more.
struct Results {
  Json evaluations = Json::array();  // ampere evaluate
  Json additivity = Json::array();   // ampere additivity
  Json curves = Json::array();       // training curves, as of pruning: {"curves": [...]}
  Json detected = Json::array();     // ampere detect
  Json tunings = Json::array();      // ampere tune
  std::vector<std::string> ignored;  // files of folders that are none of these
};

// Reads files, and the .json files of folders. What a file holds is told by its fields. Throws
// Error{kBadInput} for a path that is not there, for a named file that is none of the above, and for any that
// starts like one of them and goes on wrong.
Results read_results(const std::vector<std::string>& paths);

}  // namespace ampere
