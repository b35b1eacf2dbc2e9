// How well the one model tells the power of captured parts: of those that a store holds, the energies of a
// fifth are held back at a time, their times known.
//
//   parts STORE.db
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "model/part_work.h"
#include "model/work_model.h"
#include "store/store.h"

namespace ampere {
namespace {

constexpr int kFolds = 5;
constexpr std::size_t kFewest = 50;

std::map<std::string, std::vector<MeasuredWork>> metered_parts(const Store& store,
                                                               const std::string& device) {
  std::map<std::string, std::vector<MeasuredWork>> by_recipe;
  for (const SurfaceCount& s : store.surfaces(device)) {
    if (!s.surface.kind) continue;
    const auto works = work_of_part(*s.surface.kind, s.recipe);
    if (!works || works->empty()) continue;
    for (const StoredPoint& p : store.points(device, s.recipe, s.surface.name)) {
      const Measurement& m = p.measurement;
      if (m.energy_j)
        by_recipe[s.recipe].push_back(
            {s.surface.kind->word(), *works, m.time_s, m.time_error, m.energy_j, m.energy_error, m.host_s});
    }
  }
  return by_recipe;
}

void judge(const std::string& recipe, const std::vector<MeasuredWork>& all) {
  double absolute = 0, squared_z = 0;
  int count = 0;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::map<std::string, int> places;
    std::vector<MeasuredWork> seen;
    std::vector<AskedWork> asked;
    std::vector<double> powers;
    for (MeasuredWork m : all) {
      const int place = places.emplace(m.place, static_cast<int>(places.size())).first->second;
      if (place % kFolds == fold) {
        asked.push_back({m.place, m.works});
        powers.push_back(*m.energy_j / m.time_s);
        m.energy_j.reset();
      }
      seen.push_back(std::move(m));
    }
    const WorkCosts told = WorkModel(std::move(seen), true).at(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      const double off = std::log(told.energy_j(at) / told.time_s(at) / powers[i]);
      absolute += std::abs(std::expm1(off));
      squared_z += off * off / told.energy_covariance(at, at);
      ++count;
    }
  }
  std::printf("| %s | %.1f%% | %.2f | %d |\n", recipe.c_str(), 100 * absolute / count,
              std::sqrt(squared_z / count), count);
}

void run(const std::string& path) {
  const Store store(path);
  std::printf("| energies held back, their times known | error | z | places |\n| --- | --- | --- | --- |\n");
  for (const StoredDevice& device : store.devices()) {
    for (const auto& [recipe, all] : metered_parts(store, device.id)) {
      if (all.size() >= kFewest) judge(recipe, all);
    }
  }
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: parts STORE.db\n");
    return 2;
  }
  try {
    ampere::run(argv[1]);
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "parts: %s\n", e.what());
    return 1;
  }
}
