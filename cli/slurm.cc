// ampere slurm: jobs of a Slurm cluster, placed by joules.
#include "fleet/slurm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "common.h"
#include "fleet/accounting.h"
#include "fleet/fleet_file.h"
#include "measure/recipe.h"
#include "protocol/process.h"
#include "slurm_programs.h"
#include "tariff_options.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

// Where slurm.conf is: $SLURM_CONF, or Debian's place.
std::string slurm_folder() {
  const char* conf = std::getenv("SLURM_CONF");
  return conf && *conf ? fs::path(conf).parent_path().string() : "/etc/slurm";
}

struct SlurmArguments {
  CommonOptions common;
  std::string folder = slurm_folder();
  std::string file = "slurm.json";  // of partitions and networks
  std::string from;                 // what scontrol printed; empty: it is asked
  std::string measured;             // a folder of what `ampere measure --json` printed in jobs; empty: none
  std::string accounting;           // what sacct printed; empty: it is asked
  TariffOptions tariff;             // in place of the file's

  std::string script() const { return fs::absolute(folder).lexically_normal() / "job_submit.lua"; }
  std::string table() const { return fs::absolute(folder).lexically_normal() / "ampere_table.tsv"; }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void run_install(const SlurmArguments& o) {
  if (!fs::is_directory(o.folder))
    throw bad_input(o.folder + ": no such folder; name that of slurm.conf with --folder, or set SLURM_CONF");
  if (!fs::exists(fs::path(o.folder) / "slurm.conf"))
    throw bad_input(o.folder +
                    ": no slurm.conf is there, so Slurm would not look there for a script; name its folder "
                    "with --folder, or set SLURM_CONF");
  if (fs::exists(o.script()) && !is_slurm_script(content_of(o.script()))) {
    throw bad_input(
        o.script() +
        ": a script of somebody else is there already; move it away, or have it call ours: install "
        "into another --folder and call its slurm_job_submit at the end");
  }
  // The table first: the controller reads the script as soon as it is there.
  if (!fs::exists(o.table())) write_file(o.table(), "");
  write_file(o.script(), slurm_script(o.table()));
  if (o.common.json) {
    print_json({{"schema_version", kOutputSchemaVersion}, {"script", o.script()}, {"table", o.table()}});
    return;
  }
  print(
      "{}\n{}\nslurm.conf needs JobSubmitPlugins=lua, and slurmctld a restart if that is new; then: ampere "
      "slurm "
      "refresh\n",
      o.script(), o.table());
}

StoredDevice device_of(const Store& store, const std::string& name, const std::string& where) {
  const auto ids = store.devices_with_fact(fleet_fact(name));
  if (!ids.empty()) return choose_device(store, ids.front());
  if (store.device_like(name)) return choose_device(store, name);
  throw bad_input(
      fmt::format("{}: \"{}\" is no name that a device of {} has in a fleet, nor its id; ampere "
                  "fleet detect gives names, ampere store list tells ids",
                  where, name, store.path()));
}

void run_refresh(const SlurmArguments& o) {
  const SlurmFile file = read_slurm_file(o.file);
  const Tariff tariff = tariff_of(o.tariff.price.empty() ? file.price : o.tariff.price,
                                  o.tariff.carbon.empty() ? file.carbon : o.tariff.carbon);
  Store store = Store::to_read(o.common.store);
  std::map<std::string, StoredDevice> devices;
  for (const auto& [partition, name] : file.partitions)
    devices.emplace(partition, device_of(store, name, o.file + ": partition " + partition));
  std::vector<SlurmRow> rows;
  Json told = Json::array();
  Table table{{"model", "batch", "partition", "energy of an iteration", "time"}, {}, {false, true}, 0};
  if (!tariff.empty()) table.header.push_back("a million of them");
  table.header.push_back("");
  for (const SlurmModel& m : file.models) {
    ModelOptions options;
    options.model = m.model;
    options.batch = m.batch;
    const LoadedModel model = load_model(options, o.common);
    for (const auto& [partition, device] : devices) {
      DeviceProfile profile(store, device.id, stored_word(m.recipe, device.fingerprint));
      Json row = {{"name", m.name}, {"batch", m.batch}, {"partition", partition}, {"device_id", device.id}};
      try {
        const Estimate e = estimate_network(profile, find_method(m.method), model.network, m.batch, m.mode);
        rows.push_back({m.name, m.batch, partition, e.energy_j, e.time_s});
        table.rows.push_back({m.name, std::to_string(m.batch), partition,
                              interval_text(e.energy_j, joules_text), interval_text(e.time_s, seconds_text)});
        if (!tariff.empty()) table.rows.back().push_back(bill_text(tariff, e.energy_j * 1e6));
        table.rows.back().push_back(how_known(e));
        row["energy_j"] = e.energy_j.value;
        row["energy_low_j"] = e.energy_j.low;
        row["energy_high_j"] = e.energy_j.high;
        row["time_s"] = e.time_s.value;
        row["time_high_s"] = e.time_s.high;
        row["modelled"] = e.modelled;
        row["unmeasured"] = e.unmeasured;
        put_bill(row, tariff, e.energy_j);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::kNotProfiled) throw;
        row["why_not"] = "not profiled";
        table.rows.push_back({m.name, std::to_string(m.batch), partition, "not profiled", ""});
        table.rows.back().resize(table.header.size());
      }
      told.push_back(std::move(row));
    }
  }
  // Aside and renamed: the controller may be reading it.
  write_file(o.table(), slurm_table(rows, tariff));
  if (!o.common.json) {
    print(table);
    if (!tariff.empty()) say("at " + tariff_text(tariff));
    return;
  }
  Json out = {{"schema_version", kOutputSchemaVersion}, {"table", o.table()}, {"rows", told}};
  put_tariff(out, tariff);
  print_json(out);
}

std::string said_before(const std::string& path) {
  if (!fs::is_regular_file(path)) throw bad_input(path + ": there is no such file");
  return content_of(path);
}

std::string shown_jobs(const SlurmArguments& o) {
  return o.from.empty() ? slurm_output("scontrol -o show job", "exec scontrol -o show job")
                        : said_before(o.from);
}

// What Slurm itself has metered of these jobs. Without slurmdbd, or where no plugin meters energy, that is
// nothing, and no reason to complain.
std::map<std::string, double> accounted(const SlurmArguments& o, const std::vector<SlurmJob>& jobs) {
  if (!o.accounting.empty()) return accounted_energy_j(said_before(o.accounting));
  if (!o.from.empty()) return {};  // jobs of another cluster, perhaps
  constexpr std::size_t kAtOnce = 500;
  std::map<std::string, double> joules;
  for (std::size_t from = 0; from < jobs.size(); from += kAtOnce) {
    std::string ids;
    for (std::size_t i = from; i < std::min(jobs.size(), from + kAtOnce); ++i)
      ids += (ids.empty() ? "" : ",") + jobs[i].id;
    const auto printed = slurm_output_if_any(fmt::format(
        "exec sacct --noheader --parsable2 --format {} --jobs {}", kAccountingFormat, shell_quoted(ids)));
    if (!printed) return joules;
    joules.merge(accounted_energy_j(*printed));
  }
  return joules;
}

// Joules of a job, from a file of each of its ranks: JOB.NODE.RANK.json. A meter of a process counts that
// rank; ranks of one node that read the same meter of the machine or of a device all read the same joules,
// which count once. Absent where nothing was metered.
std::optional<double> metered(const std::string& folder, const std::string& job, bool& modelled) {
  if (folder.empty()) return std::nullopt;
  std::map<std::string, double> joules;  // by what counted them
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    if (name.rfind(job + ".", 0) != 0 || path.extension() != ".json") continue;
    Json json;
    try {
      json = read_json_file(path.string());
    } catch (const Error& e) {  // of a rank that has not ended, say
      warn(std::string(e.what()) + "; it is left out");
      continue;
    }
    if (json.is_object() && json.contains("energy_j") && json["energy_j"].is_null()) continue;
    const JsonReader r(json, path.string());
    const bool shared = r.text("scope") != "process";
    const std::string node = name.substr(0, name.find('.', job.size() + 1));
    double& counted = joules[shared ? node + " " + r.text("meter") : name];
    counted = std::max(counted, r.number("energy_j"));
    modelled = modelled || r.boolean("modelled", false);
  }
  if (joules.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [what, energy_j] : joules) sum += energy_j;
  return sum;
}

// In a job by `ampere measure` where that was done, else by Slurm.
struct MeasuredEnergy {
  std::optional<double> energy_j;
  const char* by = nullptr;
  bool modelled = false;

  std::string text() const {
    if (!energy_j) return "";
    return joules_text(*energy_j) + (std::string(by) == "slurm" ? " (Slurm)" : modelled ? " (modelled)" : "");
  }
};

Json job_json(const SlurmJob& job, const MeasuredEnergy& measured) {
  Json row = {{"job", job.id},
              {"model", job.name},
              {"state", job.state},
              {"partition", job.partition},
              {"predicted_partition", job.predicted_partition},
              {"predicted_energy_j", job.energy_j.value},
              {"predicted_energy_low_j", job.energy_j.low},
              {"predicted_energy_high_j", job.energy_j.high},
              {"energy_j", measured.energy_j ? Json(*measured.energy_j) : Json(nullptr)},
              {"measured_by", measured.by ? Json(measured.by) : Json(nullptr)},
              {"measured_modelled", measured.energy_j ? Json(measured.modelled) : Json(nullptr)},
              {"predicted_time_s", job.time_s},
              {"time_s", job.took_s ? Json(*job.took_s) : Json(nullptr)}};
  if (job.cost) {
    row["predicted_cost"] = job.cost->value;
    row["predicted_cost_low"] = job.cost->low;
    row["predicted_cost_high"] = job.cost->high;
    row["currency"] = job.currency;
  }
  if (job.carbon_g) {
    row["predicted_carbon_g"] = job.carbon_g->value;
    row["predicted_carbon_low_g"] = job.carbon_g->low;
    row["predicted_carbon_high_g"] = job.carbon_g->high;
  }
  return row;
}

void run_report(const SlurmArguments& o) {
  if (!o.measured.empty() && !fs::is_directory(o.measured)) throw bad_input(o.measured + ": no such folder");
  const std::vector<SlurmJob> jobs = slurm_jobs(shown_jobs(o));
  const std::map<std::string, double> by_slurm = accounted(o, jobs);
  const auto any = [&](const auto& has) { return std::any_of(jobs.begin(), jobs.end(), has); };
  const bool costs = any([](const SlurmJob& job) { return job.cost.has_value(); });
  const bool emits = any([](const SlurmJob& job) { return job.carbon_g.has_value(); });
  Json rows = Json::array();
  Table table{{"job", "model", "partition", "state", "predicted energy", "metered", "predicted time", "took"},
              {},
              {false, false, false, false, true, true, true, true, true, true},
              1};
  if (costs) table.header.push_back("predicted cost");
  if (emits) table.header.push_back("predicted CO2e");
  table.may_overflow = !costs && !emits;
  for (const SlurmJob& job : jobs) {
    MeasuredEnergy measured{std::nullopt, "ampere"};
    measured.energy_j = metered(o.measured, job.id, measured.modelled);
    if (const auto told = by_slurm.find(job.id); !measured.energy_j && told != by_slurm.end())
      measured = {told->second, "slurm"};
    if (!measured.energy_j) measured.by = nullptr;
    rows.push_back(job_json(job, measured));
    table.rows.push_back({job.id, job.name, job.partition, job.state,
                          interval_text(job.energy_j, joules_text), measured.text(), seconds_text(job.time_s),
                          job.took_s ? seconds_text(*job.took_s) : ""});
    if (costs) table.rows.back().push_back(job.cost ? cost_text(*job.cost, job.currency) : "");
    if (emits) table.rows.back().push_back(job.carbon_g ? carbon_text(*job.carbon_g) : "");
  }
  if (o.common.json)
    print_json({{"schema_version", kOutputSchemaVersion}, {"jobs", rows}});
  else if (jobs.empty())
    print("no job that Slurm still knows was looked at by the script of ampere slurm install\n");
  else
    print(table);
}

}  // namespace

void add_slurm(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("slurm", "Jobs of a Slurm cluster, placed by joules");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*run)(const SlurmArguments&)) {
    auto o = std::make_shared<SlurmArguments>();
    CLI::App* sub = verb->add_subcommand(name, help);
    add_output_options(*sub, o->common);
    sub->callback([o, run] { run(*o); });
    return std::make_pair(sub, o);
  };
  const auto add_folder = [](CLI::App& sub, SlurmArguments& o) {
    sub.add_option("--folder", o.folder, "Where slurm.conf is [folder of SLURM_CONF, else /etc/slurm]");
  };
  const auto install =
      add("install", "Write the job_submit.lua that places jobs, and an empty table", run_install);
  add_folder(*install.first, *install.second);
  const auto refresh =
      add("refresh", "Write what networks take on each partition, from the store", run_refresh);
  refresh.first->add_option("--file", refresh.second->file,
                            "Partitions and networks (docs/fleet.md) [slurm.json]");
  add_folder(*refresh.first, *refresh.second);
  add_tariff_options(*refresh.first, refresh.second->tariff);
  add_store_options(*refresh.first, refresh.second->common);
  const auto report = add("report", "What was predicted of jobs, and what they took", run_report);
  report.first->add_option("--measured", report.second->measured,
                           "Folder of files JOB.NODE.RANK.json that ampere measure --json wrote");
  report.first->add_option("--from", report.second->from,
                           "What scontrol -o show job printed; it is asked unless given");
  report.first->add_option("--accounting", report.second->accounting,
                           "What sacct printed (docs/fleet.md); it is asked unless given");
}

}  // namespace ampere
