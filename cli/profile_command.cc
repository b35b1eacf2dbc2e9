#include "profile_command.h"

#include <fmt/core.h>

#include "protocol/process.h"
#include "store/address.h"

namespace ampere {

namespace {

std::string word(const std::string& text) {
  return text.find_first_of(" \t\"'\\$&|;()<>*?`#~") == std::string::npos ? text : shell_quoted(text);
}

std::string recipe_and_store(const Recipe& r, const CommonOptions& common) {
  const Recipe usual;
  std::string words;
  if (r.optimizer != usual.optimizer) words += " --optimizer " + r.optimizer;
  if (r.precision != usual.precision) words += " --precision " + r.precision;
  if (r.autotune) words += " --autotune on";
  if (r.threads != usual.threads) words += fmt::format(" --threads {}", r.threads);
  if (r.deterministic) words += " --deterministic";
  if (common.store != default_store_path()) words += " --store " + word(printable_address(common.store));
  return words;
}

}  // namespace

std::string profile_command(const ModelOptions& model, const CommonOptions& common,
                            const std::string& method) {
  std::string command = fmt::format("ampere profile {} --batch {}", word(model.model), model.batch);
  for (const std::string& input : model.inputs) command += " --input " + word(input);
  for (const std::string& dim : model.dims) command += " --dim " + word(dim);
  if (model.import.restore_batchnorm) command += " --restore-batchnorm";
  if (model.import.ignore_unsupported) command += " --ignore-unsupported";
  if (method != EstimateOptions().method) command += " --method " + method;
  return command + recipe_and_store(model.recipe, common);
}

std::string device_command(const ModelOptions& model, const CommonOptions& common) {
  return "ampere profile --minutes 5" + recipe_and_store(model.recipe, common);
}

}  // namespace ampere
