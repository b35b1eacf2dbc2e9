#include "serve/jobs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>

#include "base/files.h"
#include "base/plain_text.h"
#include "measure/recipe.h"
#include "meter/cpu_cores.h"
#include "serve/child.h"
#include "serve/cores.h"
#include "serve/limited.h"
#include "store/store.h"

namespace ampere {

struct ServeJobs::OneJob {
  std::string id;
  std::string state;  // "waiting", "running", "done", "failed", "stopped", "interrupted"
  Json request;
  std::vector<std::string> words;
  Json progress;  // null until there is any
  Json result;    // what `ampere profile --json` says
  Json problem;
  std::string created_at, started_at, ended_at;
  std::atomic<bool> stop{false};
  // What happened, for those who watch; the oldest are dropped.
  std::deque<std::string> events;
  std::uint64_t first_event = 0;  // number of events.front()

  bool is_over() const { return state != "waiting" && state != "running"; }
};

namespace {

constexpr std::size_t kMostJobs = 100;  // kept; the oldest that are over go
constexpr std::size_t kMostWaiting = 10;
constexpr std::size_t kMostEvents = 500;

std::string new_job_id() {
  // In the order of time, and not to be guessed.
  std::string id = utc_now();
  std::erase_if(id, [](char c) { return c < '0' || c > '9'; });
  id.resize(14, '0');
  std::random_device random;
  const char* digits = "0123456789abcdef";
  id += '-';
  for (int i = 0; i < 12; ++i) id += digits[random() & 15];
  return id;
}

std::string event_text(const std::string& event, const Json& data) {
  return "event: " + event + "\ndata: " + data.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

// While it lives, answers keep off cores that something is measured on.
class CoresLeft {
 public:
  CoresLeft(const std::vector<int>& all, const Json& request) {
    const bool says = request.is_object() && request.contains("threads");
    const Json threads = says ? request["threads"] : Json(Recipe().threads);
    const std::int64_t asked = threads.is_number_integer() ? threads.get<std::int64_t>() : 1;
    const auto count = static_cast<int>(std::clamp<std::int64_t>(asked, 1, 1 << 20));
    const std::vector<int> fewer = cores_to_answer(all, count);
    if (fewer.empty()) return;
    before_ = all;
    keep_to(fewer);
  }
  ~CoresLeft() { keep_to(before_); }
  CoresLeft(const CoresLeft&) = delete;
  CoresLeft& operator=(const CoresLeft&) = delete;

 private:
  std::vector<int> before_;  // empty: nothing was moved
};

}  // namespace

ServeJobs::ServeJobs(std::string folder, const ServeOptions& options)
    : folder_(std::move(folder)), options_(options), all_cores_(allowed_cores()) {
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, unreadable)) {
    if (entry.path().extension() != ".json") continue;
    try {
      const Json kept = read_json_file(entry.path());
      auto job = std::make_shared<OneJob>();
      const JsonReader r(kept, "job");
      job->id = entry.path().stem();
      job->state = r.text("state");
      job->request = kept.value("request", Json::object());
      for (const Json& word : r.array("words")) job->words.push_back(word.get<std::string>());
      job->progress = kept.value("progress", Json());
      job->result = kept.value("result", Json());
      job->problem = kept.value("problem", Json());
      job->created_at = r.text("created_at");
      for (const auto& [name, time] :
           {std::pair{"started_at", &job->started_at}, {"ended_at", &job->ended_at}}) {
        if (kept.contains(name) && kept[name].is_string()) *time = kept[name];
      }
      if (!job->is_over()) job->state = "interrupted";
      jobs_[job->id] = job;
    } catch (const std::exception&) {
      continue;  // a file that somebody spoiled costs its own job alone
    }
  }
  thread_ = std::thread([this] { work(); });
}

void ServeJobs::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

ServeJobs::~ServeJobs() {
  end();
  thread_.join();
}

std::shared_ptr<ServeJobs::OneJob> ServeJobs::find(const std::string& id) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) throw HttpError(404, "not_found", "there is no job " + id.substr(0, 100));
  return found->second;
}

Json ServeJobs::told(const OneJob& job) const {
  return {{"id", job.id},
          {"kind", "profile"},
          {"state", job.state},
          {"request", job.request},
          {"progress", job.progress},
          {"result", job.result},
          {"problem", job.problem},
          {"created_at", job.created_at},
          {"started_at", job.started_at.empty() ? Json() : Json(job.started_at)},
          {"ended_at", job.ended_at.empty() ? Json() : Json(job.ended_at)}};
}

void ServeJobs::save(const OneJob& job) const {
  if (options_.read_only) return;
  Json kept = told(job);
  kept["words"] = job.words;
  try {
    write_file(folder_ + "/" + job.id + ".json", kept.dump(1, ' ', false, Json::error_handler_t::replace));
  } catch (const Error&) {  // a full disk does not end what is being measured
  }
}

void ServeJobs::tell(OneJob& job, const std::string& event, const Json& data) {
  job.events.push_back(event_text(event, data));
  if (job.events.size() > kMostEvents) {
    job.events.pop_front();
    ++job.first_event;
  }
}

void ServeJobs::enter(OneJob& job, const std::string& state) {
  job.state = state;
  if (state == "running") job.started_at = utc_now();
  if (job.is_over()) job.ended_at = utc_now();
  tell(job, state, told(job));
  save(job);
}

void ServeJobs::forget_old() {
  while (jobs_.size() > kMostJobs) {
    const auto old =
        std::find_if(jobs_.begin(), jobs_.end(), [](const auto& entry) { return entry.second->is_over(); });
    if (old == jobs_.end()) return;
    std::error_code gone;
    std::filesystem::remove(folder_ + "/" + old->first + ".json", gone);
    jobs_.erase(old);
  }
}

std::string ServeJobs::add(const Json& request, const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMostWaiting)
    throw HttpError(503, "busy", "too many jobs wait already; stop one or try later");
  auto job = std::make_shared<OneJob>();
  job->id = new_job_id();
  job->request = request;
  job->words = words;
  job->created_at = utc_now();
  jobs_[job->id] = job;
  waiting_.push_back(job->id);
  enter(*job, "waiting");
  forget_old();
  changed_.notify_all();
  return job->id;
}

Json ServeJobs::list() const {
  const std::lock_guard lock(mutex_);
  Json all = Json::array();
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) all.push_back(told(*job->second));
  return all;
}

Json ServeJobs::show(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return told(*find(id));
}

Json ServeJobs::stop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto job = find(id);
  if (job->is_over()) throw HttpError(409, "bad_input", "this job is not running: it is " + job->state);
  job->stop = true;
  if (job->state == "waiting") {
    std::erase(waiting_, id);
    enter(*job, "stopped");
  }
  return told(*job);
}

Json ServeJobs::resume(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto job = find(id);
  if (!job->is_over()) throw HttpError(409, "bad_input", "this job is " + job->state + " already");
  if (waiting_.size() >= kMostWaiting)
    throw HttpError(503, "busy", "too many jobs wait already; stop one or try later");
  job->stop = false;
  job->problem = job->result = Json();
  job->ended_at.clear();
  waiting_.push_back(id);
  enter(*job, "waiting");
  changed_.notify_all();
  return told(*job);
}

EventFeed ServeJobs::watch(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<OneJob> job = find(id);
  const std::string first = event_text(job->is_over() ? job->state : "state", told(*job));
  return [this, job, first, begun = false, over = false,
          next = job->first_event + job->events.size()]() mutable -> std::optional<std::string> {
    const std::lock_guard inner(mutex_);
    std::string text;
    if (!begun) {
      begun = true;
      text = first;
      over = job->is_over();
      return text;
    }
    if (over) return std::nullopt;
    next = std::max(next, job->first_event);
    for (; next < job->first_event + job->events.size(); ++next)
      text += job->events[static_cast<std::size_t>(next - job->first_event)];
    over = job->is_over();
    return text;
  };
}

std::map<std::string, int> ServeJobs::counts() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> by_state;
  for (const auto& [id, job] : jobs_) by_state[job->state] += 1;
  return by_state;
}

void ServeJobs::work() {
  while (true) {
    std::shared_ptr<OneJob> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_) {
        // Those that wait can be resumed later.
        for (const std::string& id : waiting_) enter(*jobs_[id], "interrupted");
        return;
      }
      job = jobs_[waiting_.front()];
      waiting_.pop_front();
      enter(*job, "running");
    }
    run(job);
  }
}

void ServeJobs::run(const std::shared_ptr<OneJob>& job) {
  std::vector<std::string> command = {options_.program,
                                      "profile",
                                      "--json",
                                      "--progress-json",
                                      "--store=" + options_.store,
                                      "--worker=" + options_.worker};
  if (!options_.meter.empty()) command.push_back("--meter=" + options_.meter);
  command.insert(command.end(), job->words.begin(), job->words.end());
  ChildOptions child;
  // Those of the whole server, which somebody may have changed since it began.
  child.cores = options_.cores.empty() ? allowed_cores() : all_cores_;
  std::optional<CoresLeft> left;
  if (options_.cores.empty()) left.emplace(child.cores, job->request);
  child.stop = [&] { return job->stop || ends_; };
  child.on_line = [&](const std::string& line) {
    const Json step = Json::parse(line, nullptr, false);
    if (step.is_discarded() || !step.is_object() || !step.contains("task")) return;
    const std::lock_guard lock(mutex_);
    job->progress = step;
    tell(*job, "progress", step);
  };
  ChildEnd end;
  std::string failure;
  try {
    end = run_child(command, child);
  } catch (const Error& e) {
    failure = e.what();
    end.status = 1;
  }
  const std::lock_guard lock(mutex_);
  if (end.stopped) return enter(*job, job->stop ? "stopped" : "interrupted");
  job->result = Json::parse(end.output, nullptr, false);
  if (end.status == 0 && job->result.is_object()) return enter(*job, "done");
  job->result = Json();
  if (failure.empty()) failure = told_error(end.errors);
  if (failure.empty()) failure = "ampere profile was killed";
  job->problem = problem_json(Error(kind_of_exit(end.status), failure));
  enter(*job, "failed");
}

}  // namespace ampere
