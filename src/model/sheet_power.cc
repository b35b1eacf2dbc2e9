#include "model/sheet_power.h"

#include <algorithm>
#include <cmath>

namespace ampere {
namespace {

// Of what lies between idle and the limit, so much goes with the root of how busy the units and the memory
// are: two halves of a device that is fed well draw nearly all of it. Fitted to the recorded parts of an
// H200, whose powers it tells to 25% (docs/one_model.md).
constexpr double kBusyShare = 0.85;

// Families that multiply come first; the others only move memory.
bool on_units(OpFamily family) { return family < OpFamily::kNorm; }

}  // namespace

double sheet_log_power(const DataSheet& sheet, const OpWork& work, double time_s) {
  const double units =
      on_units(work.family)
          ? work.flops / time_s / sheet.peak.flops_per_s[static_cast<std::size_t>(work.arithmetic)]
          : 0;
  const double memory = work.bytes / time_s / sheet.peak.bytes_per_s;
  const double busy = std::min(1.0, kBusyShare * (std::sqrt(units) + std::sqrt(memory)));
  return std::log(std::max(sheet.idle_w, 1e-3 * sheet.limit_w) + (sheet.limit_w - sheet.idle_w) * busy);
}

}  // namespace ampere
