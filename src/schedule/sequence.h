// Whether a set of jobs can be run by the devices they are given to, in any order. Exact, so for few jobs.
#pragma once

#include <optional>
#include <vector>

#include "schedule/workshop.h"

namespace ampere {

struct Assigned {
  std::size_t job = 0;
  std::size_t device = 0;
  friend bool operator==(const Assigned&, const Assigned&) = default;
};

// An order in which one device can run these jobs, at most 24; absent when there is none. Of what jobs wait
// for on other devices only the time it takes at least is counted (`released_s`, by job).
std::optional<std::vector<std::size_t>> sequence_of(const Workshop& workshop, std::size_t device,
                                                    const std::vector<std::size_t>& jobs,
                                                    const std::vector<double>& released_s);

// The smallest sets that the device cannot run in any order: each of them can be run without any one of its
// jobs. Looks at all sets of at most `largest` jobs, so there are few of those or of the jobs.
std::vector<std::vector<std::size_t>> impossible_sets(const Workshop& workshop, std::size_t device,
                                                      const std::vector<std::size_t>& jobs,
                                                      const std::vector<double>& released_s,
                                                      std::size_t largest);

enum class Answer { kYes, kNo, kUnknown };  // unknown: the search was given up
struct JointSequence {
  Answer answer = Answer::kNo;
  std::vector<Assigned> order;  // by start
};
// The same for several devices, where jobs wait for each other. All that a job waits for must be in the set.
JointSequence joint_sequence_of(const Workshop& workshop, const std::vector<Assigned>& set);

// When each job could start at the earliest, if every job before it ran on its fastest device.
std::vector<double> earliest_starts(const Workshop& workshop);

}  // namespace ampere
