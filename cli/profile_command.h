// What to type where a profile is missing.
#pragma once

#include <string>

#include "common.h"

namespace ampere {

// The command that measures what an estimate lacks: with the same recipe, into the same store.
std::string profile_command(const ModelOptions& model, const CommonOptions& common,
                            const std::string& method = "split");

// That measures the device itself, with the same recipe, into the same store.
std::string device_command(const ModelOptions& model, const CommonOptions& common);

}  // namespace ampere
