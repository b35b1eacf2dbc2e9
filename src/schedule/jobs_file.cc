#include "schedule/jobs_file.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/quantity_text.h"

namespace ampere {
namespace {

constexpr std::size_t kMostPairs = 5'000'000;  // of jobs and devices
constexpr std::size_t kMostWindows = 1000;
constexpr int kSchemaVersion = 1;

Joules energy(const JsonReader& r, const std::string& key) {
  return parse_energy(r.text(key), r.where() + ": " + key);
}
Seconds duration(const JsonReader& r, const std::string& key) {
  return parse_duration(r.text(key), r.where() + ": " + key);
}

void require_word(const std::string& word, const std::vector<std::string>& known, const std::string& where) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return;
  std::string list;
  for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
  throw bad_input(where + ": unknown \"" + word + "\" (known: " + list + ")");
}

std::vector<std::string> words(const JsonReader& r, const std::string& key) {
  std::vector<std::string> all;
  for (const Json& word : r.array(key)) {
    if (!word.is_string()) throw bad_input(r.where() + ": field \"" + key + "\" must be a list of names");
    all.push_back(word.get<std::string>());
  }
  return all;
}

// [["0h", "8h"], ["22h", "never"]]
std::vector<TimeWindow> windows(const JsonReader& r, const std::string& key) {
  const std::string where = r.where() + ": " + key;
  std::vector<TimeWindow> all;
  if (r.array(key).size() > kMostWindows) throw bad_input(where + ": more than 1000 windows");
  for (const Json& w : r.array(key)) {
    if (!w.is_array() || w.size() != 2 || !w[0].is_string() || !w[1].is_string())
      throw bad_input(where + ": a window is a pair such as [\"1h\", \"8h30min\"]");
    const auto end = w[1].get<std::string>();
    all.push_back({parse_duration(w[0].get<std::string>(), where).value(),
                   end == "never" ? kNever : parse_duration(end, where).value()});
  }
  return all;
}

ScheduleDevice read_device(const Json& json, std::size_t index, const std::string& what,
                           ProfileSource& profile) {
  const std::string name = JsonReader(json, what + ": device " + std::to_string(index + 1)).text("name");
  const JsonReader r(json, what + ": device \"" + name + "\"");
  r.only({"name", "profile", "store", "battery", "charger", "available", "background_power"});
  ScheduleDevice d;
  d.name = name;
  profile = {r.text("profile", ""), r.text("store", "")};
  if (r.has("battery")) {
    const JsonReader b(r.object("battery"), r.where() + ": battery");
    b.only({"capacity", "charge", "reserve"});
    Battery battery;
    battery.capacity_j = energy(b, "capacity").value();
    battery.charge_j = energy(b, "charge").value();
    battery.reserve_j = b.has("reserve") ? energy(b, "reserve").value() : 0;
    d.battery = battery;
  }
  if (r.has("charger")) {
    const JsonReader c(r.object("charger"), r.where() + ": charger");
    c.only({"power", "plugged"});
    d.charger = Charger{parse_power(c.text("power"), c.where() + ": power").value(),
                        c.has("plugged") ? windows(c, "plugged") : std::vector<TimeWindow>{{}}};
  }
  if (r.has("available")) d.available = windows(r, "available");
  if (r.has("background_power"))
    d.background_w = parse_power(r.text("background_power"), r.where() + ": background_power").value();
  return d;
}

LogNormal uncertain(double mean, double deviation, const std::string& where) {
  if (mean > 0) return LogNormal::from_mean(mean, deviation);
  if (deviation > 0) throw bad_input(where + ": a cost of nothing has no deviation");
  return {};
}

JobCost read_cost(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"energy", "energy_deviation", "time", "time_deviation"});
  const double energy_deviation = r.has("energy_deviation") ? energy(r, "energy_deviation").value() : 0;
  const double time_deviation = r.has("time_deviation") ? duration(r, "time_deviation").value() : 0;
  return {uncertain(energy(r, "energy").value(), energy_deviation, where),
          uncertain(duration(r, "time").value(), time_deviation, where)};
}

Recipe read_recipe(const JsonReader& r) {
  r.only({"optimizer", "precision", "autotune", "deterministic", "threads"});
  Recipe recipe;
  recipe.optimizer = r.text("optimizer", recipe.optimizer);
  recipe.precision = r.text("precision", recipe.precision);
  require_word(recipe.optimizer, kOptimizers, r.where() + ": optimizer");
  require_word(recipe.precision, kPrecisions, r.where() + ": precision");
  recipe.autotune = r.boolean("autotune", recipe.autotune);
  recipe.deterministic = r.boolean("deterministic", recipe.deterministic);
  const std::int64_t threads = r.integer("threads", recipe.threads);
  if (threads < 1 || threads > 4096) throw bad_input(r.where() + ": threads must lie between 1 and 4096");
  recipe.threads = static_cast<int>(threads);
  return recipe;
}

std::int64_t counted(const JsonReader& r, const std::string& key, std::int64_t most) {
  const std::int64_t value = r.integer(key);
  if (value < 1 || value > most)
    throw bad_input(r.where() + ": " + key + " must lie between 1 and " + std::to_string(most) + ", found " +
                    std::to_string(value));
  return value;
}

TrainingJob read_training(const JsonReader& r) {
  TrainingJob t;
  t.network = r.text("network");
  if (r.has("batch")) t.batch = counted(r, "batch", 16777216);
  if (r.has("epochs")) t.epochs = counted(r, "epochs", 1000000000);
  t.samples = counted(r, "samples", 1000000000000);
  t.method = r.text("method", t.method);
  if (r.has("recipe")) t.recipe = read_recipe(JsonReader(r.object("recipe"), r.where() + ": recipe"));
  const std::string mode = r.text("mode", "eager");
  require_word(mode, {"eager", "replay"}, r.where() + ": mode");
  t.mode = mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  return t;
}

class Reader {
 public:
  Reader(const Json& json, std::string what) : what_(std::move(what)), top_(json, what_) {}

  JobsFile read() {
    top_.only({"schema_version", "devices", "jobs"});
    if (top_.integer("schema_version", kSchemaVersion) != kSchemaVersion)
      throw bad_input(what_ + ": schema_version must be 1; a newer file needs a newer ampere");
    const Json& devices = top_.array("devices");
    const Json& jobs = top_.array("jobs");
    if (devices.empty()) throw bad_input(what_ + ": \"devices\" is empty: there is nothing to run jobs on");
    if (jobs.size() * devices.size() > kMostPairs) {
      throw bad_input(what_ + ": " + std::to_string(jobs.size()) + " jobs on " +
                      std::to_string(devices.size()) +
                      " devices are more than 5 million pairs; split the file");
    }
    file_.profiles.resize(devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d) {
      file_.problem.devices.push_back(read_device(devices[d], d, what_, file_.profiles[d]));
      add_name(device_index_, file_.problem.devices.back().name, d, "device");
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) read_job(jobs[j], j);
    link();
    try {
      check(file_.problem);
    } catch (const Error& e) {
      throw Error(e.kind(), what_ + ": " + e.what());
    }
    return std::move(file_);
  }

 private:
  void add_name(std::map<std::string, std::size_t>& names, const std::string& name, std::size_t index,
                const std::string& of) const {
    if (name.empty()) throw bad_input(what_ + ": " + of + " " + std::to_string(index + 1) + " has no name");
    if (!names.emplace(name, index).second)
      throw bad_input(what_ + ": " + of + " \"" + name + "\" is there twice");
  }

  std::size_t device_named(const std::string& name, const std::string& where) const {
    const auto found = device_index_.find(name);
    if (found == device_index_.end())
      throw bad_input(where + ": there is no device \"" + name + "\" in the file");
    return found->second;
  }

  void read_job(const Json& json, std::size_t index) {
    const std::string name = JsonReader(json, what_ + ": job " + std::to_string(index + 1)).text("name");
    const JsonReader r(json, what_ + ": job \"" + name + "\"");
    r.only({"name", "value", "earliest", "deadline", "depends_on", "devices", "kind", "cost", "costs",
            "network", "batch", "epochs", "samples", "method", "recipe", "mode"});
    ScheduleJob job;
    job.name = name;
    job.kind = r.text("kind", "");
    job.value = r.number("value", 1);
    if (r.has("earliest")) job.earliest_s = duration(r, "earliest").value();
    if (r.has("deadline")) job.deadline_s = duration(r, "deadline").value();
    if (r.has("depends_on")) needs_.emplace_back(index, words(r, "depends_on"));
    std::vector<bool> allowed(file_.problem.devices.size(), !r.has("devices"));
    if (r.has("devices")) {
      for (const std::string& device : words(r, "devices"))
        allowed[device_named(device, r.where() + ": devices")] = true;
    }
    read_costs(r, job, allowed);
    add_name(job_index_, name, index, "job");
    file_.problem.jobs.push_back(std::move(job));
    file_.allowed.push_back(std::move(allowed));
  }

  void read_costs(const JsonReader& r, ScheduleJob& job, const std::vector<bool>& allowed) {
    if (r.has("network") + r.has("cost") + r.has("costs") != 1)
      throw bad_input(r.where() + ": needs exactly one of \"network\", \"cost\" and \"costs\"");
    job.costs.resize(allowed.size());
    job.why_not.resize(allowed.size());
    for (std::size_t d = 0; d < allowed.size(); ++d) {
      if (!allowed[d]) job.why_not[d] = "not allowed";
    }
    file_.training.emplace_back();
    if (r.has("network")) {
      file_.training.back() = read_training(r);
      return;
    }
    for (const char* key : {"batch", "epochs", "samples", "method", "recipe", "mode"}) {
      if (r.has(key)) throw bad_input(r.where() + ": \"" + key + "\" goes with \"network\" only");
    }
    if (r.has("cost")) {
      const JobCost cost = read_cost(r.object("cost"), r.where() + ": cost");
      for (std::size_t d = 0; d < allowed.size(); ++d) {
        if (allowed[d]) job.costs[d] = cost;
      }
      return;
    }
    for (std::size_t d = 0; d < allowed.size(); ++d) {
      if (allowed[d]) job.why_not[d] = "no cost is given";
    }
    for (const auto& [device, cost] : r.object("costs").items()) {
      const std::size_t d = device_named(device, r.where() + ": costs");
      if (!allowed[d]) continue;
      job.costs[d] = read_cost(cost, r.where() + ": costs: " + device);
      job.why_not[d].clear();
    }
  }

  // Jobs may depend on ones further down, so names are looked up when all are read.
  void link() {
    for (const auto& [index, names] : needs_) {
      ScheduleJob& job = file_.problem.jobs[index];
      for (const std::string& name : names) {
        const auto found = job_index_.find(name);
        if (found == job_index_.end())
          throw bad_input(what_ + ": job \"" + job.name + "\" depends on \"" + name +
                          "\", which is not there");
        if (std::find(job.depends_on.begin(), job.depends_on.end(), found->second) == job.depends_on.end())
          job.depends_on.push_back(found->second);
      }
    }
  }

  std::string what_;
  JsonReader top_;
  JobsFile file_;
  std::map<std::string, std::size_t> device_index_, job_index_;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> needs_;  // job and names
};

}  // namespace

JobsFile read_jobs(const Json& json, const std::string& what) { return Reader(json, what).read(); }

}  // namespace ampere
