// Running Slurm's own programs.
#pragma once

#include <optional>
#include <string>

namespace ampere {

// What a shell's command prints on standard output. Throws Error{kFailed} with its own words where it fails,
// and says where it is to be found where it is not there; `name` is what it is called then.
std::string slurm_output(const std::string& name, const std::string& command);
// Absent where it fails.
std::optional<std::string> slurm_output_if_any(const std::string& command);

}  // namespace ampere
