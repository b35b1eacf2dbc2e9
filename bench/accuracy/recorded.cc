// Networks of an evaluation that was made on a real device, estimated again from the points that it measured:
// what a change of the models does to whole networks, without the device.
//
//   recorded POINTS.csv MODEL BATCH RECIPE EVALUATION.csv
//
// Six of the networks, from the smallest to the largest, teach how layers add up, as whole networks do while
// a device is profiled; the others are judged. Points without times of a host are of a processor, on which
// networks were trained eagerly; on an accelerator they were replayed.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "estimate/estimate.h"
#include "model/composition.h"
#include "model/split.h"
#include "network/zoo.h"
#include "points.h"

namespace ampere {
namespace {

constexpr double kIdleW = 125;  // of the H200 that the points come from (results/h200/detect.txt)

constexpr double kEmpty_s = 1e-6;
constexpr std::size_t kTeaching = 6;

struct Trained {
  std::string name;
  double energy_j, time_s;
};

// By energy.
std::vector<Trained> trained_networks(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw bad_input(path + ": cannot be read");
  std::map<std::string, Trained> networks;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> f = cells_of(line);
    if (f.size() < 5) throw bad_input(path + ": a line has too few columns: " + line);
    networks[f[0]] = {f[0], std::atof(f[3].c_str()), std::atof(f[4].c_str())};
  }
  std::vector<Trained> all;
  for (const auto& [name, network] : networks) all.push_back(network);
  if (all.size() <= kTeaching) throw bad_input(path + ": too few networks");
  std::sort(all.begin(), all.end(),
            [](const Trained& a, const Trained& b) { return a.energy_j < b.energy_j; });
  return all;
}

void keep(DeviceProfile& profile, const ExportedPoint& p, const StoredSurface& surface, bool processor) {
  Measurement m;
  m.time_s = p.time_s;
  m.time_error = 0.002;
  if (p.energy_j > 0) m.energy_j = p.energy_j;
  m.energy_error = 0.01;
  if (!processor) m.host_s = std::max(p.host_s, 1e-6);
  m.kernels = p.kernels;
  m.windows = 1;
  m.iterations = 1;
  m.mode = processor ? "eager" : "replay";
  m.meter = "recorded";
  profile.add_point(surface, p.channels, "{}", m);
}

class Score {
 public:
  void add(const Estimate& e, const Trained& truth) {
    const double off = std::abs(e.energy_j.value / truth.energy_j - 1);
    energy_ += off;
    worst_ = std::max(worst_, off);
    time_ += std::abs(e.time_s.value / truth.time_s - 1);
    held_ += e.energy_j.low <= truth.energy_j && truth.energy_j <= e.energy_j.high ? 1 : 0;
    ++count_;
  }
  void print(const char* what) const {
    std::printf("%-12s %3d networks, %.2f%% off, worst %.1f%%, time %.2f%%, held %d\n", what, count_,
                100 * energy_ / count_, 100 * worst_, 100 * time_ / count_, held_);
  }

 private:
  double energy_ = 0, time_ = 0, worst_ = 0;
  int held_ = 0, count_ = 0;
};

// Takes those that teach out of the networks.
void learn_from_wholes(DeviceProfile& profile, std::vector<Trained>& networks, std::int64_t batch,
                       bool processor) {
  std::vector<WholeComparison> times, energies;
  std::string family;
  const std::size_t last = networks.size() - 1;
  for (std::size_t i = kTeaching; i-- > 0;) {
    const auto at = networks.begin() + static_cast<std::ptrdiff_t>(i * last / (kTeaching - 1));
    const Network network = build(parse_zoo(at->name));
    const std::vector<Layer> layers = parse_layers(network, batch);
    const SplitParts parts = split_parts(LayerModels(profile, split_plans(layers), Probes::kNone), layers);
    const Composed whole = compose(parts, 0);
    times.push_back(processor ? WholeComparison{at->time_s, whole.time_s, whole.time_s_variance}
                              : WholeComparison{at->time_s, parts.device_s, parts.device_s_variance});
    energies.push_back(processor ? WholeComparison{at->energy_j, whole.energy_j, whole.energy_j_variance}
                                 : WholeComparison{at->energy_j, parts.device_j, parts.device_j_variance});
    family = family_of(network, batch);
    networks.erase(at);
  }
  const CompositionBelief& belief = processor ? kOfWhole : kOfDevice;
  keep_composition(profile, kSplit, family, processor ? Part::kTime : Part::kDeviceTime,
                   learn_composition(times, belief));
  keep_composition(profile, kSplit, family, processor ? Part::kEnergy : Part::kDeviceEnergy,
                   learn_composition(energies, belief));
}

void run(const std::string& path, const std::string& model, std::int64_t batch, const std::string& recipe,
         const std::string& evaluation) {
  const auto file =
      std::filesystem::temp_directory_path() / ("ampere-recorded-" + std::to_string(getpid()) + ".db");
  std::filesystem::remove(file);
  Store store(file.string());
  const std::vector<ExportedPoint> points = read_points(path);
  const bool processor =
      std::all_of(points.begin(), points.end(), [](const ExportedPoint& p) { return p.host_s == 0; });
  const std::string device =
      store.add_device({{"name", "recorded"}, {"type", processor ? "cpu" : "cuda"}, {"meter", "recorded"}});
  DeviceProfile profile(store, device, recipe);
  if (!processor) {
    profile.set_idle_power_w(kIdleW, false);
    // That an empty iteration's host was timed tells that there are two clocks; nothing replayed contains it.
    keep(profile, {"", recipe, "", "", {0, 0}, kEmpty_s, 0, kEmpty_s, {}}, empty_surface(), processor);
  }
  std::map<std::string, SurfacePlan> plans;
  for (const SurfacePlan& plan : split_plans(parse_layers(build(parse_zoo(model)), batch)))
    plans.emplace(plan.key, plan);
  const auto keep_all = [&](const char* word, const auto& surface_of) {
    for (const ExportedPoint& p : points) {
      if (p.recipe != recipe || p.point != word) continue;
      if (processor && p.key == empty_surface().name) keep(profile, p, empty_surface(), processor);
      const auto plan = plans.find(p.key);
      if (plan != plans.end()) keep(profile, p, surface_of(plan->second.surface), processor);
    }
  };
  keep_all("surface", [](const StoredSurface& s) { return s; });
  std::vector<Trained> networks = trained_networks(evaluation);
  learn_from_wholes(profile, networks, batch, processor);
  const auto judge = [&](const char* what) {
    Score score;
    for (const Trained& truth : networks)
      score.add(estimate_network(profile, find_method(kSplit), build(parse_zoo(truth.name)), batch,
                                 processor ? MeasureMode::kEager : MeasureMode::kReplay, Probes::kAll),
                truth);
    score.print(what);
  };
  judge("split");
  // What was probed of these networks tells others, too, so it comes last.
  keep_all("probe", [](const StoredSurface& s) { return probe_of(s, Purpose::kTimedProbe); });
  judge("split-probe");
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
