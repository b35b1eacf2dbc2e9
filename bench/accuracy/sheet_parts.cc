// How right a data sheet is about parts of training steps that were recorded on the device, alone and with
// the first few of them measured, and how wide its intervals are.
//
//   sheet_parts STORE SHEET [DRAWS]         (docs/one_model.md has the output; no SHEET but "-": without one)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "model/part_work.h"
#include "model/work_model.h"

namespace ampere {
namespace {

constexpr const char* kRecipe = "captured-default-t1";

std::vector<MeasuredWork> parts_of(const Store& store) {
  std::vector<MeasuredWork> parts;
  for (const StoredDevice& device : store.devices()) {
    for (const SurfaceCount& s : store.surfaces(device.id)) {
      if (s.recipe != kRecipe || !s.surface.kind) continue;
      const auto works = work_of_part(*s.surface.kind, s.recipe);
      if (!works || works->empty()) continue;
      for (const StoredPoint& p : store.points(device.id, s.recipe, s.surface.name)) {
        const Measurement& m = p.measurement;
        if (!m.energy_j) continue;
        parts.push_back(
            {s.surface.kind->word(), *works, m.time_s, m.time_error, m.energy_j, m.energy_error, m.host_s});
        break;  // one of each place
      }
    }
  }
  return parts;
}

// Of one quantity, over all that was asked.
struct Tally {
  std::vector<double> off, width;
  int held = 0;

  void add(double told, double truth, double relative_variance) {
    const double deviation = std::sqrt(std::log1p(relative_variance)), log_off = std::log(told / truth);
    off.push_back(std::abs(told / truth - 1));
    width.push_back(std::exp(kZ95 * deviation));
    held += std::abs(log_off) < kZ95 * deviation;
  }
  void print() const {
    double mean = 0;
    for (const double o : off) mean += o / static_cast<double>(off.size());
    std::printf(" %.0f%% (%.0f%%) | %.2f | %.0f%% |", 100 * mean, 100 * median(off), median(width),
                100.0 * held / static_cast<double>(off.size()));
  }
};

void run(const std::string& path, const std::string& sheet, int draws) {
  const std::vector<MeasuredWork> parts = parts_of(Store::to_read(path));
  if (parts.empty()) throw bad_input(path + ": no captured parts with energies are in there");
  std::printf("%zu parts, %d draws\n\n", parts.size(), draws);
  std::printf(
      "| measured | energy off, mean (median) | interval, times or divided by | held | time off | interval | "
      "held "
      "|\n| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::size_t measured : {0U, 1U, 3U, 10U, 30U, 100U, 300U}) {
    if (measured == 0 && sheet == "-") continue;
    Tally energy, time;
    for (int draw = 0; draw < (measured == 0 ? 1 : draws); ++draw) {
      std::vector<MeasuredWork> order = parts;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(draw)));
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(measured, order.size() - 1));
      const std::vector<MeasuredWork> seen(order.begin(), end);
      const WorkModel model = sheet == "-" ? WorkModel(seen, true) : WorkModel(seen, find_data_sheet(sheet));
      for (auto one = end; one != order.end(); ++one) {
        const WorkCosts costs = model.at({{one->place, one->works}});
        energy.add(costs.energy_j(0), *one->energy_j, costs.energy_covariance(0, 0));
        time.add(costs.time_s(0), one->time_s, costs.time_covariance(0, 0));
      }
    }
    std::printf("| %zu |", measured);
    energy.print();
    time.print();
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: sheet_parts STORE SHEET|- [DRAWS]\n");
    return 2;
  }
  try {
    ampere::run(argv[1], argv[2], argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sheet_parts: %s\n", error.what());
    return 1;
  }
  return 0;
}
