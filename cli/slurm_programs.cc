#include "slurm_programs.h"

#include <fmt/core.h>

#include <chrono>

#include "base/error.h"
#include "base/plain_text.h"
#include "protocol/process.h"

namespace ampere {
namespace {

constexpr std::chrono::seconds kSlurmPatience(120);
constexpr int kNotFound = 127;  // of the shell

ProcessEnd run_slurm(const std::string& command, std::string& printed, std::string& errors) {
  Process process(command);
  const auto deadline = Process::Clock::now() + kSlurmPatience;
  std::string line;
  while (process.read_line(&line, deadline) == Process::Outcome::kLine) printed += line + "\n";
  const ProcessEnd end = process.end(std::chrono::seconds(5));
  errors = process.last_words();
  return end;
}

bool is_well(const ProcessEnd& end) { return end.status == 0 && end.signal == 0 && !end.running; }

}  // namespace

std::optional<std::string> slurm_output_if_any(const std::string& command) {
  std::string printed, errors;
  return is_well(run_slurm(command, printed, errors)) ? std::optional(printed) : std::nullopt;
}

std::string slurm_output(const std::string& name, const std::string& command) {
  std::string printed, errors;
  const ProcessEnd end = run_slurm(command, printed, errors);
  if (is_well(end)) return printed;
  if (end.status == kNotFound)
    throw Error(ErrorKind::kFailed,
                fmt::format("{}: there is no such program here; run this where Slurm's are, on a login node, "
                            "say (Debian: slurm-client)",
                            name));
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  throw Error(ErrorKind::kFailed, fmt::format("{} failed ({}: {}); is Slurm here, and SLURM_CONF right?",
                                              name, end.text(), plain_line(errors)));
}

}  // namespace ampere
