// How well the one model tells the power of captured parts: of those that a store holds, the energies of a
// fifth are held back at a time, their times known. With "rows", every part besides.
//
//   parts STORE.db [rows]
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "base/capped.h"
#include "base/error.h"
#include "model/measured_works.h"
#include "store/store.h"

namespace ampere {
namespace {

constexpr int kFolds = 5;
constexpr std::size_t kFewest = 50;

struct Judged {
  double absolute = 0, squared_z = 0;
  int count = 0;
};

void judge(const DeviceProfile& profile, Computes asked_in, bool rows) {
  const MeasuredWorks all = measured_works(profile, asked_in);
  std::map<std::string, int> places;
  for (const MeasuredWork& m : all.seen) {
    if (m.energy_j) places.emplace(m.place, static_cast<int>(places.size()));
  }
  if (places.size() < kFewest) return;
  Judged judged;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<AskedWork> asked;
    std::vector<double> powers;
    MeasuredWorks seen = all;
    for (MeasuredWork& m : seen.seen) {
      if (!m.energy_j || places.at(m.place) % kFolds != fold) continue;
      asked.push_back({m.place, m.works});
      powers.push_back(*m.energy_j / m.time_s);
      m.energy_j.reset();
    }
    const auto model = model_of(profile, std::move(seen));
    const WorkBelief told = model->believed(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      const double off = std::log(told.power_w(at) / powers[i]);
      judged.absolute += std::abs(std::expm1(off));
      judged.squared_z += off * off / told.power_covariance(at, at);
      ++judged.count;
      if (rows)
        std::printf("%8.1f W %+6.1f%% (+- %2.0f%%) %10.3f ms  %s\n", powers[i], 100 * std::expm1(off),
                    100 * std::sqrt(told.power_covariance(at, at)), 1e3 * told.time_s(at),
                    capped(asked[i].place, 100).c_str());
    }
  }
  std::printf("| %s, %s | %.1f%% | %.2f | %d |\n", profile.recipe().c_str(),
              asked_in == Computes::kHalf ? "half" : "float", 100 * judged.absolute / judged.count,
              std::sqrt(judged.squared_z / judged.count), judged.count);
}

void run(const std::string& path, bool rows) {
  Store store = Store::to_read(path);
  std::printf("| energies held back, their times known | error | z | places |\n| --- | --- | --- | --- |\n");
  for (const StoredDevice& device : store.devices()) {
    std::set<std::string> recipes;
    for (const SurfaceCount& s : store.surfaces(device.id)) recipes.insert(s.recipe);
    for (const std::string& recipe : recipes) {
      const DeviceProfile profile(store, device.id, recipe);
      for (const Computes asked_in : {Computes::kFloat, Computes::kHalf}) judge(profile, asked_in, rows);
    }
  }
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  const bool rows = argc == 3 && std::string(argv[2]) == "rows";
  if (argc != 2 && !rows) {
    std::fprintf(stderr, "usage: parts STORE.db [rows]\n");
    return 2;
  }
  try {
    ampere::run(argv[1], rows);
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "parts: %s\n", e.what());
    return 1;
  }
}
