// A problem made ready for the solvers: what a plan sets aside for each job on each device, at the chosen
// risk, and who waits for whom.
#pragma once

#include <vector>

#include "schedule/lane.h"
#include "schedule/problem.h"

namespace ampere {

struct Workshop {
  // `risk` by device. The problem must outlive it and have passed check().
  Workshop(const Problem& problem, const std::vector<double>& risk);

  const Demand& demand(std::size_t job, std::size_t device) const {
    return demands[job * supplies.size() + device];
  }
  std::size_t job_count() const { return problem.jobs.size(); }
  std::size_t device_count() const { return supplies.size(); }

  const Problem& problem;
  std::vector<Supply> supplies;                      // by device
  std::vector<Demand> demands;                       // by job, then device
  std::vector<std::vector<std::size_t>> dependents;  // by job: those that wait for it
  std::vector<std::size_t> order;                    // dependency_order()
  // The share of the device's time or of its energy that a job takes, whichever is larger; by job and device.
  std::vector<double> shares;
  double share(std::size_t job, std::size_t device) const { return shares[job * supplies.size() + device]; }
};

}  // namespace ampere
