#include "ampere/schedule.h"

#include "schedule/jobs_file.h"
#include "session/jobs.h"
#include "session/session.h"

namespace ampere {

ScheduledJobs schedule_jobs_file(const std::string& path, const JobsFileOptions& options) {
  JobsFile file = read_jobs(read_json_file(path), path);
  const std::string store = options.store.empty() ? default_store_path() : options.store;
  const std::string worker = options.worker.empty() ? default_worker_command() : options.worker;
  ScheduledJobs jobs;
  jobs.modelled = estimate_jobs(file, {path, store, worker_options(worker)});
  jobs.plan = schedule(file.problem, options.schedule);
  jobs.problem = std::move(file.problem);
  return jobs;
}

}  // namespace ampere
