// Whether a problem makes sense, and in which order its jobs can run.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/log_normal.h"

namespace ampere {

// The largest figures that a problem may have: solvers lose digits with larger ones, and some abort.
inline constexpr double kMostValue = 1e9;
inline constexpr double kMostJobJoules = 1e15;             // 278 GWh
inline constexpr double kMostJobSeconds = 36500 * 86400.;  // 100 years; "never" is kNever
inline constexpr double kMostJobWatts = 1e9;
// Figures that differ by no more than this share are equal.
inline constexpr double kRounding = 1e-9;
// The shortest job.
inline constexpr double kLeastJobSeconds = 1e-6;

// Throws Error{kBadInput}: figures that are negative, too large or unordered, names that are empty or occur
// twice, dependencies in a circle, costs of the wrong number.
void check(const Problem& problem);
// Throws Error{kBadInput}: rates that do not rise from 0, figures that are absurd.
void check(const Forecast& forecast);

// Jobs so that each comes behind those it depends on; otherwise in the order given. Throws Error{kBadInput}
// that names a circle.
std::vector<std::size_t> dependency_order(const Problem& problem);

}  // namespace ampere
