#include "model/part_work.h"

#include "base/statistics.h"
#include "model/layer_work.h"

namespace ampere {
namespace {

// Calling a module costs the host this share of what a step as such does (python/ampere/worker/host.py).
constexpr double kModuleOverStep = 3e-3 / 0.4;

double steps_of(const LayerKind& kind) {
  double modules = 0;
  for (const std::int64_t count : kind.ops.front().list("host")) modules += static_cast<double>(count);
  return 1 + kModuleOverStep * modules;
}

}  // namespace

bool is_loop_part(const LayerKind& kind) {
  return is_captured(kind) && !kind.ops.front().list("host").empty();
}

std::optional<std::vector<CountedWork>> work_of_part(const LayerKind& kind, const std::string& recipe,
                                                     bool accelerator) {
  if (!is_captured(kind) || is_loop_part(kind)) return std::nullopt;
  const std::string& calls = kind.ops.front().word("calls");
  if (calls.find("\"compiled\":true") != std::string::npos) return std::nullopt;
  return work_of_calls(calls, tensor_float_of(recipe), accelerator);
}

double loop_host_s(const DeviceProfile& profile, const LayerKind& kind) {
  std::vector<double> per_step;
  for (const SurfaceCount& s : profile.surfaces()) {
    if (s.recipe != profile.recipe() || !s.surface.kind || !is_loop_part(*s.surface.kind)) continue;
    for (const StoredPoint& p : profile.points(s.surface.name)) {
      if (p.measurement.host_s) per_step.push_back(*p.measurement.host_s / steps_of(*s.surface.kind));
    }
  }
  if (per_step.empty()) return profile.is_sheet() ? profile.sheet()->step_host_s() * steps_of(kind) : 0;
  return median(per_step) * steps_of(kind);
}

}  // namespace ampere
