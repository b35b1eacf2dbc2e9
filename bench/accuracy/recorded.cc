// Networks of an evaluation that was made on a real device, estimated again from the points that it measured:
// what a change of the models does to whole networks, without the device.
//
//   recorded POINTS.csv MODEL BATCH RECIPE EVALUATION.csv
//
// The points do not tell how layers add up, so one factor for all networks, the median, is taken off.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/statistics.h"
#include "estimate/estimate.h"
#include "network/zoo.h"
#include "points.h"

namespace ampere {
namespace {

constexpr double kIdleW = 125;  // of the H200 that the points come from (results/h200/detect.txt)

std::map<std::string, double> measured_j(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw bad_input(path + ": cannot be read");
  std::map<std::string, double> networks;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> f = cells_of(line);
    if (f.size() < 4) throw bad_input(path + ": a line has too few columns: " + line);
    networks[f[0]] = std::atof(f[3].c_str());
  }
  return networks;
}

void keep(DeviceProfile& profile, const ExportedPoint& p, const StoredSurface& surface) {
  Measurement m;
  m.time_s = p.time_s;
  m.time_error = 0.002;
  if (p.energy_j > 0) m.energy_j = p.energy_j;
  m.energy_error = 0.01;
  m.host_s = std::max(p.host_s, 1e-6);
  m.kernels = p.kernels;
  m.windows = 1;
  m.iterations = 1;
  m.mode = "replay";
  m.meter = "nvml";
  profile.add_point(surface, p.channels, "{}", m);
}

struct Score {
  std::vector<double> ratios;
  void print(const char* what) const {
    const double middle = median(ratios);
    double sum = 0, worst = 0;
    for (const double r : ratios) {
      sum += std::abs(r / middle - 1);
      worst = std::max(worst, std::abs(r / middle - 1));
    }
    std::printf("%-12s %3zu networks, %.2f%% off, worst %.1f%%, times %.3f\n", what, ratios.size(),
                100 * sum / static_cast<double>(ratios.size()), 100 * worst, middle);
  }
};

void run(const std::string& path, const std::string& model, std::int64_t batch, const std::string& recipe,
         const std::string& evaluation) {
  const auto file = std::filesystem::temp_directory_path() / "ampere-recorded.db";
  std::filesystem::remove(file);
  Store store(file.string());
  const std::string device = store.add_device({{"name", "recorded"}, {"type", "cuda"}, {"meter", "nvml"}});
  DeviceProfile profile(store, device, recipe);
  profile.set_idle_power_w(kIdleW, false);
  std::map<std::string, SurfacePlan> plans;
  for (const SurfacePlan& plan : split_plans(parse_layers(build(parse_zoo(model)), batch)))
    plans.emplace(plan.key, plan);
  for (const ExportedPoint& p : read_points(path)) {
    const auto plan = plans.find(p.key);
    if (p.recipe != recipe || plan == plans.end()) continue;
    if (p.point == "surface") keep(profile, p, plan->second.surface);
    if (p.point == "probe") keep(profile, p, probe_of(plan->second.surface, Purpose::kTimedProbe));
  }
  Score split, probed;
  for (const auto& [name, energy_j] : measured_j(evaluation)) {
    const Network network = build(parse_zoo(name));
    const auto ratio = [&](Probes probes) {
      return estimate_network(profile, find_method("split"), network, batch, MeasureMode::kReplay, probes)
                 .energy_j.value /
             energy_j;
    };
    split.ratios.push_back(ratio(Probes::kNone));
    probed.ratios.push_back(ratio(Probes::kAll));
  }
  split.print("split");
  probed.print("split-probe");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: recorded POINTS.csv MODEL BATCH RECIPE EVALUATION.csv\n");
    return 2;
  }
  try {
    ampere::run(argv[1], argv[2], std::atoll(argv[3]), argv[4], argv[5]);
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "recorded: %s\n", e.what());
    return 1;
  }
}
