// Every family of the paper by one command. What was measured is in the store, so a
// run that was ended goes on where it was; what was finished is in the folder, and the tables show it.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "evaluate/suite.h"
#include "session/evaluation.h"

namespace ampere {
namespace {

// Slow ones, and those that only compare, are left to where their figures are asked for: eager training with
// the framework's defaults.
std::vector<std::string> methods_for(const SuiteRun& run, bool accelerator) {
  if (!accelerator) return {"split", "paper", "neuralpower"};
  if (run.autotune) return {"split", "split-probe"};
  if (run.mode == MeasureMode::kReplay) return {"split", "split-probe", "paper-replay"};
  return {"split", "split-probe", "paper", "neuralpower"};
}

std::vector<SuiteRun> chosen(std::vector<SuiteRun> runs, const std::vector<std::string>& only) {
  if (only.empty()) return runs;
  std::string known;
  for (const SuiteRun& run : runs) known += (known.empty() ? "" : ", ") + run.name();
  for (const std::string& name : only) {
    if (std::none_of(runs.begin(), runs.end(), [&](const SuiteRun& r) { return r.name() == name; }))
      throw bad_input("the suite has no run \"" + name + "\" (known: " + known + ")");
  }
  runs.erase(std::remove_if(runs.begin(), runs.end(),
                            [&](const SuiteRun& r) {
                              return std::find(only.begin(), only.end(), r.name()) == only.end();
                            }),
             runs.end());
  return runs;
}

// What the folder has of the suite, from this run or an earlier one.
std::vector<Json> finished(const std::string& folder, const std::vector<SuiteRun>& runs) {
  std::vector<Json> done;
  for (const SuiteRun& run : runs) {
    const std::string path = folder + "/" + run.name() + ".json";
    if (!std::filesystem::exists(path)) continue;
    done.push_back(read_json_file(path));
    try {
      suite_report({done.back()});
    } catch (const Json::exception&) {
      throw bad_input(path + ": not an evaluation of this program; delete it, and it is made again");
    }
  }
  return done;
}

}  // namespace

SuiteResult run_suite(const Session& session, const SuiteOptions& suite, EvaluationOptions options,
                      const std::vector<std::string>& methods_given, int samples_given, const OnStep& on_step,
                      const std::function<void(const std::string& name, double seconds)>& begins) {
  const bool accelerator = session.profiling_mode() == MeasureMode::kReplay;
  const std::vector<SuiteRun> all = suite_runs(suite_entries(suite.name), accelerator);
  const std::vector<SuiteRun> runs = chosen(all, suite.only);
  std::error_code failed;
  std::filesystem::create_directories(suite.folder, failed);
  if (failed)
    throw bad_input(suite.folder + ": cannot be made (" + failed.message() + "); name another with --output");
  require_writable(suite.folder + "/suite.md");
  finished(suite.folder, all);  // told before the training, not after it
  const auto start = std::chrono::steady_clock::now();
  int left = 0;
  for (const SuiteRun& run : runs) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (suite.seconds > 0 && taken.count() > suite.seconds) {
      ++left;
      continue;
    }
    if (begins) begins(run.name(), taken.count());
    options.model = run.entry.model;
    options.setup.batch = run.entry.batch;
    options.setup.recipe.autotune = run.autotune;
    options.mode = run.mode;
    options.samples = samples_given > 0 ? samples_given : run.entry.samples;
    options.methods = methods_given.empty() ? methods_for(run, accelerator) : methods_given;
    const EvaluationResult result = run_evaluation(session, model_to_evaluate(options), options, on_step);
    write_evaluation(suite.folder + "/" + run.name(), result);
  }
  SuiteResult result{suite_report(finished(suite.folder, all)), static_cast<int>(runs.size()), left};
  write_file(suite.folder + "/suite.md", result.report);
  return result;
}

}  // namespace ampere
