// ampere fleet profile: all devices of a file, this machine under a name, or the nodes of a Slurm cluster.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "fleet/together.h"
#include "fleet_slurm.h"
#include "fleet_table.h"
#include "fleet_verbs.h"
#include "measure/recipe.h"
#include "network/network_json.h"
#include "protocol/process.h"
#include "session/profile.h"
#include "text.h"

namespace ampere {
namespace {

struct FleetProfileArguments : FleetArguments {
  std::vector<std::string> models;  // none: the devices themselves
  ModelOptions model;
  ProfilingOptions profiling;
  double minutes = 5;
  std::string here;  // what this machine is called, which alone is profiled; empty: the devices of the file
  ClusterOptions cluster;
};

// All that is asked of a device, in 16 digits, by which it is kept that it was done.
std::string digest_of(const FleetProfileArguments& o, const std::vector<LoadedModel>& models) {
  const ProfilingOptions& p = o.profiling;
  Json asked = {o.model.batch,      o.model.recipe.word(), p.methods,          p.exact, p.points_1d,
                p.points_2d,        p.energy_points_1d,    p.energy_points_2d, p.guide, p.budget_s,
                p.target_deviation, p.target_error,        p.whole_networks};
  if (models.empty()) asked.push_back(o.minutes);
  for (const LoadedModel& model : models) asked.push_back(network_to_json(model.network));
  return hex_digest(asked.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void profile_one(const FleetProfileArguments& o, const std::vector<LoadedModel>& models,
                 const Session& session, const OnStep& on_step, FleetOutcome& out) {
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.model.recipe, session.fingerprint));
  if (models.empty()) {
    const DeviceSummary done = profile_device(session, profile, o.minutes, o.model.recipe, on_step);
    out.measured = done.measured;
    out.reused = done.known;
  }
  for (const LoadedModel& model : models) {
    const ProfilingSummary done =
        profile_as_asked(session, profile, model, setup_of(o.model), o.profiling, on_step);
    for (const MethodProfile& p : done.methods) {
      out.measured += p.summary.measured;
      out.reused += p.summary.reused;
    }
    if (done.exact) {
      out.measured += done.exact->measured;
      out.reused += done.exact->known;
    }
  }
}

std::vector<LoadedModel> models_of(const FleetProfileArguments& o) {
  std::vector<LoadedModel> models;
  for (const std::string& text : o.models) {
    ModelOptions one = o.model;
    one.model = text;
    models.push_back(load_model(one, o.common));
    parse_layers(models.back().network, o.model.batch);  // bad shapes are told before anything is started
  }
  return models;
}

void profile_all(const FleetProfileArguments& o, const Fleet& fleet, const std::vector<LoadedModel>& models) {
  const std::string asked = digest_of(o, models);
  std::vector<FleetOutcome> outcomes(fleet.devices.size());
  TakeTurns turns;
  {
    FleetTable progress(fleet, o.common.quiet || o.common.json);
    for_each_device(fleet, [&](std::size_t i) {
      progress.begins(i, "connecting");
      outcomes[i] = with_session(o, fleet.devices[i], [&](const Session& session, FleetOutcome& out) {
        progress.begins(i, "waiting for its turn");
        const auto turn = turns.wait_for(session.device_id);
        progress.begins(i, "profiling");
        profile_one(
            o, models, session, [&](const Step& step) { progress.steps(i, step); }, out);
        session.store->put_fact(session.device_id, "", done_fact(fleet.devices[i].name, asked),
                                {{"done_at", utc_now()}});
      });
      const FleetOutcome& out = outcomes[i];
      progress.ends(i, out.error.empty(),
                    out.error.empty()
                        ? fmt::format("done, {} points measured, {} known", out.measured, out.reused)
                        : out.error);
    });
  }
  Json rows = Json::array();
  Table table{
      {"name", "device", "id", "new", "known", "outcome"}, {}, {false, false, false, true, true, false}, 1};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const FleetOutcome& out = outcomes[i];
    Json row = to_json(fleet.devices[i], out);
    row["points_measured"] = out.measured;
    row["points_known"] = out.reused;
    rows.push_back(std::move(row));
    table.rows.push_back({fleet.devices[i].name,
                          out.fingerprint.is_null() ? "-" : out.fingerprint.value("name", "?"), out.device_id,
                          std::to_string(out.measured), std::to_string(out.reused),
                          out.error.empty() ? "done" : "failed"});
  }
  if (o.common.json)
    print_json(
        {{"schema_version", kOutputSchemaVersion}, {"recipe", o.model.recipe.word()}, {"devices", rows}});
  else
    print(table);
  end_with(o, fleet, outcomes);
}

// This very program with the same options, for the node that a task of a job runs on.
std::string task_command(const CLI::App& verb, const FleetProfileArguments& o) {
  static const std::set<std::string> not_for_tasks = {
      "file",           "store",   "here", "json",  "quiet",        "at-once", "slurm", "partitions",
      "sbatch-options", "dry-run", "wait", "again", "shared-store", "help",    "config"};
  std::error_code unknown;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  std::string command = shell_quoted(unknown ? "ampere" : self.string()) + " fleet profile";
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    if (not_for_tasks.count(name) > 0) continue;
    const bool flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results())
      command += (name.empty() ? "" : " --" + name) + (flag ? "" : " " + shell_quoted(value));
  }
  return command + " --here \"$name\" --quiet --store " + shell_quoted(store_for_nodes(o.common, o.cluster));
}

void run_fleet_profile(const FleetProfileArguments& o, const CLI::App& verb) {
  const bool file_given = verb.count("--file") > 0;
  if (!o.here.empty() && (o.cluster.slurm || file_given))
    throw bad_input("--here is about this machine alone; leave --file and --slurm away");
  if (o.cluster.slurm && file_given)
    throw bad_input("--slurm asks the cluster which nodes there are; leave --file away");
  if (!o.cluster.slurm && o.here.empty() && (!o.common.worker.empty() || !o.common.meter.empty()))
    throw bad_input("--worker and --meter go with --here and --slurm; in a file each device has its own");
  check(o.cluster, o.common);
  check(o.profiling);
  if (o.cluster.slurm) {
    const std::vector<LoadedModel> models = models_of(o);
    submit_profiles({o.common, o.cluster, digest_of(o, models), task_command(verb, o), o.at_once});
    return;
  }
  Fleet fleet;
  if (o.here.empty())
    fleet = fleet_of(o);
  else
    fleet.devices.push_back({o.here, "local", o.common.worker, o.common.meter});
  profile_all(o, fleet, models_of(o));
}

}  // namespace

void add_fleet_profile(CLI::App& fleet) {
  auto o = std::make_shared<FleetProfileArguments>();
  CLI::App* verb =
      fleet.add_subcommand("profile", "Profile all of them for networks, or themselves (resumable)");
  verb->add_option("MODEL", o->models, "Networks; without: the devices themselves, for so many --minutes");
  verb->add_option("-b,--batch", o->model.batch, "Batch size [1]")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--input", o->model.inputs, "Shape a .pt file reads, for each input")
      ->allow_extra_args(false);
  verb->add_option("--minutes", o->minutes, "Without MODEL: how long [5]")->check(CLI::Range(0.01, 1440.0));
  verb->add_option("--method", o->profiling.methods, "split, paper, neuralpower, or several: split,paper")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_flag("--exact", o->profiling.exact,
                 "Only the layers of these networks, once each, at their own channels");
  verb->add_option("--here", o->here,
                   "This machine alone, under that name, instead of the devices of a file");
  verb->add_option("--worker", o->common.worker,
                   "With --here or --slurm: command of the worker [AMPERE_WORKER]");
  verb->add_option("--meter", o->common.meter, "With --here or --slurm: its energy meter");
  add_cluster_options(*verb, o->cluster);
  add_profiling_options(*verb, o->profiling);
  add_recipe_options(*verb, o->model);
  add_fleet_options(*verb, *o, true);
  verb->callback([o, verb] { run_fleet_profile(*o, *verb); });
}

}  // namespace ampere
