// Runs a plan many times with energies and times drawn anew, and counts what went wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/problem.h"

namespace ampere {

// How errors hang together. Jobs of one kind on one device err by one common factor; devices err
// independently.
struct ErrorModel {
  double between_kinds = 0.5;  // correlation of the errors of different kinds on one device
  double time_energy = 0.7;    // correlation of a job's time with its energy
};

struct PlannedJob {
  std::size_t job = 0;
  std::size_t device = 0;
  double start_s = 0;
  double end_s = 0;             // of the time set aside for it
  double energy_j = 0;          // set aside for it
  double battery_lowest_j = 0;  // until its end, if it takes what was set aside; 0 on the mains
  double battery_after_j = 0;
};

struct Simulation {
  std::size_t draws = 0;
  std::vector<double> battery_failed;  // by device: share of draws in which it fell below its reserve
  std::vector<double> late;            // by job: share of draws in which it ended behind deadline or window
  double any_failed = 0;               // share of draws in which anything did
  double worst_battery() const;
  double worst_late() const;
};

// Each device runs its jobs in the planned order. None starts before its planned time, because the battery
// may need that time to charge, nor before those it waits for have ended. Nothing is ever given up: a job
// that is late or a battery that is empty is counted, and the day goes on.
Simulation simulate(const Problem& problem, const std::vector<PlannedJob>& plan, std::size_t draws,
                    std::uint64_t seed, const ErrorModel& model = {});

}  // namespace ampere
