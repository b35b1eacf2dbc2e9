#include "fleet/accounting.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "fleet/scontrol.h"

namespace ampere {
namespace {

// A plugin that knows nothing says 0, or the largest number there is, or nothing.
constexpr double kMostJobJoules = 1e18;

struct JobStep {
  double energy_j;
  std::string start, end, nodes;  // times as Slurm writes them, which are ordered as text

  bool is_beside(const JobStep& other) const {
    return nodes == other.nodes && start < other.end && other.start < end;
  }
};

struct Accounted {
  double whole_j = 0, batch_j = 0, extern_j = 0;
  std::vector<JobStep> steps;

  double energy_j() const {
    double sum = 0;
    std::vector<JobStep> counted;
    for (const JobStep& step : steps) {
      const auto beside = std::find_if(counted.begin(), counted.end(),
                                       [&](const JobStep& other) { return step.is_beside(other); });
      if (beside == counted.end()) {
        counted.push_back(step);
        continue;
      }
      beside->energy_j = std::max(beside->energy_j, step.energy_j);
      beside->end = std::max(beside->end, step.end);
    }
    for (const JobStep& step : counted) sum += step.energy_j;
    const double told = std::max({batch_j, extern_j, sum});
    return told > 0 ? told : whole_j;
  }
};

}  // namespace

std::map<std::string, double> accounted_energy_j(const std::string& printed) {
  std::map<std::string, Accounted> jobs;
  for (const std::string& line : lines_of(printed)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 5) continue;
    char* end = nullptr;
    const double joules = std::strtod(cells[1].c_str(), &end);
    if (cells[1].empty() || *end != '\0' || !(joules > 0 && joules < kMostJobJoules)) continue;
    const std::size_t dot = cells[0].find('.');
    Accounted& job = jobs[cells[0].substr(0, dot)];
    const std::string step = dot == std::string::npos ? "" : cells[0].substr(dot + 1);
    if (step.empty())
      job.whole_j = joules;
    else if (step == "batch")
      job.batch_j = joules;
    else if (step == "extern")
      job.extern_j = joules;
    else
      job.steps.push_back({joules, cells[2], cells[3], cells[4]});
  }
  std::map<std::string, double> out;
  for (auto& [id, job] : jobs) {
    std::stable_sort(job.steps.begin(), job.steps.end(),
                     [](const JobStep& a, const JobStep& b) { return a.start < b.start; });
    out[id] = job.energy_j();
  }
  return out;
}

}  // namespace ampere
