#include "fleet/slurm.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/embedded.h"
#include "base/error.h"
#include "fleet/scontrol.h"
#include "measure/recipe.h"
#include "protocol/process.h"

AMPERE_EMBEDDED(job_submit, AMPERE_JOB_SUBMIT)

namespace ampere {
namespace {

constexpr const char* kMark = "-- Written by `ampere slurm install`";
constexpr double kJoulesPerKwh = 3.6e6;

SlurmModel model_from(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"name", "model", "batch", "optimizer", "precision", "autotune", "threads", "method", "mode"});
  SlurmModel m;
  m.model = r.text("model");
  m.name = r.text("name", m.model);
  m.batch = r.integer_between("batch", 1, 1, 1 << 30);
  m.recipe.optimizer = r.text("optimizer", m.recipe.optimizer);
  m.recipe.precision = r.text("precision", m.recipe.precision);
  m.recipe.autotune = r.boolean("autotune", m.recipe.autotune);
  m.recipe.threads = static_cast<int>(r.integer_between("threads", m.recipe.threads, 1, 4096));
  r.require_one_of("optimizer", m.recipe.optimizer, kOptimizers);
  r.require_one_of("precision", m.recipe.precision, kPrecisions);
  m.method = r.text("method", m.method);
  const std::string mode = r.text("mode", "eager");
  r.require_one_of("mode", mode, {"eager", "replay"});
  m.mode = mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  if (m.name.empty() || m.name.find_first_of(",\t\n =") != std::string::npos)
    throw bad_input(where + ": \"" + m.name +
                    "\" cannot stand in a comment, which commas divide; give it a \"name\"");
  return m;
}

// "1-02:03:04" -> seconds.
std::optional<double> seconds_of(const std::string& text) {
  int days = 0, hours = 0, minutes = 0, seconds = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string::npos) days = std::atoi(text.c_str());
  if (std::sscanf(text.c_str() + (dash == std::string::npos ? 0 : dash + 1), "%d:%d:%d", &hours, &minutes,
                  &seconds) != 3)
    return std::nullopt;
  return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds;
}

// What our script wrote: "ampere:NAME,batch=..,partition=..,joules=.."
bool read_prediction(const std::string& comment, SlurmJob& job) {
  const std::string mark = "ampere:";
  if (comment.rfind(mark, 0) != 0) return false;
  std::map<std::string, std::string> words;
  for (const std::string& word : split(comment.substr(mark.size()), ',')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      job.name = word;
    else
      words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  const auto number = [&](const std::string& key) { return std::strtod(words[key].c_str(), nullptr); };
  const auto interval = [&](const std::string& key) {
    return Interval{number(key), number(key + "_low"), number(key + "_high")};
  };
  job.predicted_partition = words["partition"];
  job.energy_j = interval("joules");
  job.time_s = number("seconds");
  if (words.count("cost") > 0) job.cost = interval("cost");
  job.currency = words["currency"];
  if (words.count("grams") > 0) job.carbon_g = interval("grams");
  return !job.name.empty() && job.energy_j.value > 0;
}

// A name is put in with quotes around it, which mean something else within quotes.
void require_bare_places(const std::string& command) {
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (quote != 0 && command.compare(i, 5, "{job}") == 0)
      throw bad_input("--slurm: {job} must not stand within quotes; it is quoted where it is put in");
    if (command[i] == '\\' && quote != '\'')
      ++i;
    else if (command[i] == quote)
      quote = 0;
    else if (quote == 0 && (command[i] == '\'' || command[i] == '"' || command[i] == '`'))
      quote = command[i];
  }
}

}  // namespace

std::string slurm_script(const std::string& table) {
  if (table.empty() || table.front() != '/' || table.find_first_of("\"\\\n") != std::string::npos)
    throw bad_input("\"" + table + "\": the table needs an absolute path without quotes and backslashes");
  std::string script(embedded_job_submit());
  const std::string place = "@TABLE@";
  script.replace(script.find(place), place.size(), table);
  return script;
}

bool is_slurm_script(const std::string& text) { return text.rfind(kMark, 0) == 0; }

SlurmFile slurm_file_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  r.only({"partitions", "models", "price", "carbon"});
  SlurmFile file;
  file.price = r.text("price", "");
  file.carbon = r.text("carbon", "");
  try {
    tariff_of(file.price, file.carbon);
  } catch (const Error& e) {
    throw bad_input(where + ": " + e.what());
  }
  for (const auto& [name, device] : r.object("partitions").items()) {
    if (!device.is_string() || name.empty() || name.find_first_of("\t\n,") != std::string::npos)
      throw bad_input(where + ": partitions are {\"NAME\": \"name in a fleet, or id of a device\"}");
    file.partitions[name] = device.get<std::string>();
  }
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (const Json& model : r.array("models")) {
    const std::string at = where + ": model " + std::to_string(file.models.size() + 1);
    file.models.push_back(model_from(model, at));
    if (!seen.emplace(file.models.back().name, file.models.back().batch).second)
      throw bad_input(at + ": a second one is called \"" + file.models.back().name + "\" with that batch");
  }
  if (file.partitions.empty() || file.models.empty())
    throw bad_input(where + ": needs at least one partition and one model");
  return file;
}

SlurmFile read_slurm_file(const std::string& path) {
  return slurm_file_from_json(read_json_file(path), path);
}

std::string slurm_table(const std::vector<SlurmRow>& rows, const Tariff& tariff) {
  std::string out;
  const auto put = [&](double figure) {
    char text[40];
    std::snprintf(text, sizeof text, "\t%.9g", figure);
    out += text;
  };
  for (const SlurmRow& r : rows) {
    out += r.name + "\t" + std::to_string(r.batch) + "\t" + r.partition;
    for (const double figure :
         {r.energy_j.value, r.energy_j.low, r.energy_j.high, r.time_s.value, r.time_s.high})
      put(figure);
    // Of a joule; -: not known. The script reads no empty cells.
    const auto per_joule = [&](const std::optional<double>& per_kwh) {
      if (per_kwh)
        put(*per_kwh / kJoulesPerKwh);
      else
        out += "\t-";
    };
    per_joule(tariff.price_per_kwh);
    out += "\t" + (tariff.currency.empty() ? "-" : tariff.currency);
    per_joule(tariff.carbon_g_per_kwh);
    out += "\n";
  }
  return out;
}

std::string sbatch_script(const Problem& problem, const Plan& plan, const std::string& command) {
  require_bare_places(command);
  std::vector<PlannedJob> jobs = plan.jobs;
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const PlannedJob& a, const PlannedJob& b) { return a.start_s < b.start_s; });
  std::map<std::size_t, std::size_t> last_of;  // job that runs last on a device, so far
  std::string out = "#!/bin/sh\nset -e\n";
  for (const PlannedJob& p : jobs) {
    const ScheduleJob& job = problem.jobs[p.job];
    std::string wrapped = command;
    const std::string place = "{job}", name = shell_quoted(job.name);
    for (std::size_t at = wrapped.find(place); at != std::string::npos;
         at = wrapped.find(place, at + name.size()))
      wrapped.replace(at, place.size(), name);
    std::string after;
    for (const std::size_t before : job.depends_on) after += ",afterok:$job" + std::to_string(before + 1);
    if (const auto last = last_of.find(p.device); last != last_of.end())
      after += ",afterany:$job" + std::to_string(last->second + 1);
    last_of[p.device] = p.job;
    // Whole minutes, as Slurm counts, and one to begin and end.
    const auto minutes = static_cast<long long>(std::ceil((p.end_s - p.start_s) / 60)) + 1;
    out += "job" + std::to_string(p.job + 1) + "=$(sbatch --parsable --job-name " + name + " --partition " +
           shell_quoted(problem.devices[p.device].name) + " --begin now+" +
           std::to_string(static_cast<long long>(std::ceil(p.start_s))) + " --time " +
           std::to_string(minutes) + (after.empty() ? "" : " --dependency \"" + after.substr(1) + "\"") +
           " --wrap " + shell_quoted(wrapped) + ")\n";
  }
  return out;
}

std::vector<SlurmJob> slurm_jobs(const std::string& shown) {
  std::vector<SlurmJob> jobs;
  for (const std::string& line : lines_of(shown)) {
    auto fields = scontrol_fields(line);
    SlurmJob job;
    if (!read_prediction(fields["AdminComment"], job)) continue;
    job.id = fields["JobId"];
    job.state = fields["JobState"];
    job.partition = fields["Partition"];
    if (job.state != "PENDING" && job.state != "RUNNING" && job.state != "CONFIGURING")
      job.took_s = seconds_of(fields["RunTime"]);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace ampere
