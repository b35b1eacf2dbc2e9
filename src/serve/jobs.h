// Profiling in the background, in a process of its own: one at a time, with progress that can be watched, to
// be stopped and resumed. Meanwhile the server leaves cores to it (serve/cores.h). What is known of a job is
// kept in a file, so that one which a killed server leaves behind can be resumed by the next.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "serve/http.h"
#include "serve/options.h"

namespace ampere {

// All members may be called by several threads.
class ServeJobs {
 public:
  // Reads what the folder knows; jobs that were running when it was written are interrupted ones.
  ServeJobs(std::string folder, const ServeOptions& options);
  ~ServeJobs();
  // Stops the one that runs, which is then an interrupted one, as are those that wait; returns at once.
  void end();
  ServeJobs(const ServeJobs&) = delete;
  ServeJobs& operator=(const ServeJobs&) = delete;

  // `request` is told again with the job; `words` follow `ampere profile`; the store and the
  // worker are this server's. Returns the id. Throws
  // HttpError{503} where too many wait.
  std::string add(const Json& request, const std::vector<std::string>& words);
  Json list() const;
  // These throw HttpError{404} where there is no such job, {409} where it is in no state for that.
  Json show(const std::string& id) const;
  Json stop(const std::string& id);
  Json resume(const std::string& id);
  // Server-sent events, from now on: the present state first.
  EventFeed watch(const std::string& id);
  // By state.
  std::map<std::string, int> counts() const;

 private:
  struct OneJob;
  std::shared_ptr<OneJob> find(const std::string& id) const;
  Json told(const OneJob& job) const;
  void enter(OneJob& job, const std::string& state);
  void tell(OneJob& job, const std::string& event, const Json& data);
  void save(const OneJob& job) const;
  void work();
  void run(const std::shared_ptr<OneJob>& job);
  void forget_old();

  std::string folder_;
  const ServeOptions& options_;
  const std::vector<int> all_cores_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<OneJob>> jobs_;  // by id, which begins with when it was made
  std::deque<std::string> waiting_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace ampere
