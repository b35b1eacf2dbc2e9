// Costs of scheduled jobs that are given as networks: estimated from the profiles of the devices.
#pragma once

#include <string>

#include "protocol/worker_client.h"
#include "schedule/jobs_file.h"

namespace ampere {

struct JobCostOptions {
  std::string file;      // the jobs file's name: paths in it are meant from where it is
  std::string store;     // where a device names none
  WorkerOptions worker;  // runs TorchScript files, where there are any
};

// Fills in the costs of all jobs that have none; where a device has no profile for a job, says why not.
// Returns whether any figure comes from a modelled meter. Throws Error that names the job.
bool estimate_jobs(JobsFile& file, const JobCostOptions& options);

}  // namespace ampere
