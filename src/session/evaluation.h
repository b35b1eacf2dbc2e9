// One evaluation, whole: profiling, real training, estimates, and the JSON that is kept of it.
#pragma once

#include "evaluate/evaluate.h"
#include "session/profiling.h"

namespace ampere {

struct EvaluationOptions {
  std::string model;  // of the zoo
  TrainingSetup setup;
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
LoadedModel model_to_evaluate(const EvaluationOptions& options);

EvaluationResult run_evaluation(const Session& session, const LoadedModel& model,
                                const EvaluationOptions& options, const OnStep& on_step);

// Writes PREFIX.json and PREFIX.csv.
void write_evaluation(const std::string& prefix, const EvaluationResult& result);

// All entries of a suite, one after the other, within a time.
struct SuiteOptions {
  std::string name;
  std::string folder;
  double seconds = 0;             // after which no further evaluation is begun; 0: no limit
  std::vector<std::string> only;  // names of runs, all when empty
};
struct SuiteResult {
  std::string report;  // Markdown, of all that the folder holds; written to suite.md there, too
  int runs = 0;
  int not_begun = 0;  // for want of time; the same call goes on with them
};
// `begins` is told of each evaluation, and the seconds so far.
SuiteResult run_suite(const Session& session, const SuiteOptions& suite, EvaluationOptions options,
                      const std::vector<std::string>& methods_given, int samples_given, const OnStep& on_step,
                      const std::function<void(const std::string& name, double seconds)>& begins);

}  // namespace ampere
