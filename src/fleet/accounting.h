// Energy that Slurm's accounting has measured of jobs.
#pragma once

#include <map>
#include <string>

namespace ampere {

// What `sacct --noheader --parsable2 --format` is to print.
inline constexpr const char* kAccountingFormat = "JobIDRaw,ConsumedEnergyRaw,Start,End,NodeList";

// Joules of each job, by its id, from what it printed. Where nothing was metered, a job is missing.
//
// Slurm's energy plugins meter nodes, and every step of a job reports what its nodes took while it ran. The
// step `batch` is on the first node for as long as the job, `extern` on all, the steps of `srun` on theirs,
// while they run. So these are not added up: each of the three tells a part of the same joules, and the
// largest is nearest to all. Steps of `srun` are added up, but for those that were on the same nodes at the
// same time: of these the largest counts. The job's own line adds all of them up, and counts only where there
// is no other.
std::map<std::string, double> accounted_energy_j(const std::string& printed);

}  // namespace ampere
