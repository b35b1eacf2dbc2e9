// One evaluation as the verbs run it: profiling, real training, estimates, and the JSON that is kept of it.
#pragma once

#include "evaluate/evaluate.h"
#include "profiling.h"

namespace ampere {

struct EvaluationOptions {
  ModelOptions model;
  ProfilingOptions profiling;
  std::vector<std::string> methods = {"split", "paper"};
  MeasureMode mode = MeasureMode::kEager;
  int samples = 20;
  int passes = 2;
  double training_s = 0;  // after which no further pass is begun; 0: no limit
  std::uint64_t sample_seed = 1;
};

struct EvaluationResult {
  Evaluation evaluation;
  std::vector<MethodProfile> profiles;
  bool modelled = false;
  Json json;
};

// Throws Error{kBadInput} for networks that nothing can be sampled from and for unknown methods; call it
// before anything is started.
Model model_to_evaluate(const EvaluationOptions& options);

EvaluationResult run_evaluation(const Session& session, const Model& model, const EvaluationOptions& options,
                                bool quiet);

// Writes PREFIX.json and PREFIX.csv.
void write_evaluation(const std::string& prefix, const EvaluationResult& result);

// ampere evaluate --suite: all entries of a suite, one after the other, within a time.
struct SuiteOptions {
  std::string name;
  std::string folder;
  double seconds = 0;             // after which no further evaluation is begun; 0: no limit
  std::vector<std::string> only;  // names of runs, all when empty
};
void run_suite(const Session& session, const SuiteOptions& suite, EvaluationOptions options,
               const std::vector<std::string>& methods_given, int samples_given, bool quiet);

}  // namespace ampere
