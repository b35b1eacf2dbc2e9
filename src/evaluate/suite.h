// The paper's families as one evaluation, and the tables made of its results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/recipe.h"

namespace ampere {

// Random networks of one zoo entry at one batch size.
struct SuiteEntry {
  std::string model;
  std::int64_t batch;
  int samples;
};

// "paper": LeNet-5, the 5-layer CNN at two batch sizes, HAR, LSTM, Transformer, and ResNets of several depths
// with both stems. Throws Error{kBadInput} for other names.
std::vector<SuiteEntry> suite_entries(const std::string& name);

// One evaluation of the suite: an entry under a recipe, trained in a mode.
struct SuiteRun {
  SuiteEntry entry;
  bool autotune = false;
  MeasureMode mode = MeasureMode::kEager;

  // "cnn5-b256-autotune-replay": names its files.
  std::string name() const;
};
// A CPU has nothing to tune and nothing to replay; an accelerator has both.
std::vector<SuiteRun> suite_runs(const std::vector<SuiteEntry>& entries, bool accelerator);

// `evaluations`: what ampere evaluate wrote (its JSON), one per run. Markdown: errors by family and method
// beside the noise floor, shares of networks within given errors (the paper's Figure 10), and the time that
// profiling took (its Table 1).
std::string suite_report(const std::vector<Json>& evaluations);

}  // namespace ampere
