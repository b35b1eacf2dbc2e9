#include "profile_command.h"

#include <fmt/core.h>

#include "protocol/process.h"
#include "store/address.h"

namespace ampere {

std::string profile_command(const ModelOptions& model, const CommonOptions& common,
                            const std::string& method) {
  auto word = [](const std::string& text) {
    return text.find_first_of(" \t\"'\\$&|;()<>*?`#~") == std::string::npos ? text : shell_quoted(text);
  };
  const Recipe& r = model.recipe;
  const Recipe usual;
  std::string command = fmt::format("ampere profile {} --batch {}", word(model.model), model.batch);
  for (const std::string& input : model.inputs) command += " --input " + word(input);
  for (const std::string& dim : model.dims) command += " --dim " + word(dim);
  if (model.import.restore_batchnorm) command += " --restore-batchnorm";
  if (model.import.ignore_unsupported) command += " --ignore-unsupported";
  if (method != EstimateOptions().method) command += " --method " + method;
  if (r.optimizer != usual.optimizer) command += " --optimizer " + r.optimizer;
  if (r.precision != usual.precision) command += " --precision " + r.precision;
  if (r.autotune) command += " --autotune on";
  if (r.threads != usual.threads) command += fmt::format(" --threads {}", r.threads);
  if (r.deterministic) command += " --deterministic";
  if (common.store != default_store_path()) command += " --store " + word(printable_address(common.store));
  return command;
}

}  // namespace ampere
