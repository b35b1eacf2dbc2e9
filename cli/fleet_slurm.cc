#include "fleet_slurm.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "fleet/array_job.h"
#include "fleet/node_types.h"
#include "fleet/scontrol.h"
#include "protocol/process.h"
#include "slurm_programs.h"
#include "store/address.h"
#include "text.h"

namespace ampere {
namespace {

// As comments of jobs; that of jobs to place begins with "ampere:".
std::string comment_of(const ProfileJob& job) { return "ampere-fleet:" + job.digest; }

std::vector<NodeType> ask_node_types(const ClusterOptions& o) {
  std::vector<NodeType> types =
      node_types(slurm_output("sinfo", "exec sinfo --noheader --Node --format " + shell_quoted(kNodeFormat)),
                 o.partitions);
  if (types.empty()) throw Error(ErrorKind::kFailed, "sinfo knows no nodes");
  return types;
}

bool is_on_this_machine(const std::string& store) {
  for (const char* words :
       {"@localhost", "//localhost", "@127.", "//127.", "[::1]", "host=localhost", ":///"}) {
    if (store.find(words) != std::string::npos) return true;
  }
  return false;
}

// A type of node, and what is known or done about it.
struct TypeRow {
  NodeType type;
  bool known = false;
  std::optional<std::size_t> task = {};
  ArrayTask outcome = {};

  std::string text() const {
    if (known) return "known already";
    if (!type.up) return "left out: no node of it is up";
    if (!task) return "";
    return outcome.state == "PENDING" ? "submitted" : outcome.state;
  }
};

std::vector<TypeRow> rows_of_types(const ProfileJob& job) {
  std::vector<std::string> facts;
  std::vector<TypeRow> rows;
  for (NodeType& type : ask_node_types(job.options)) {
    facts.push_back(done_fact(type.name, job.digest));
    rows.push_back({std::move(type)});
  }
  if (job.options.again) return rows;
  const auto known = Store::to_read(job.common.store).devices_by_fact(facts);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].known = known.count(facts[i]) > 0;
  return rows;
}

void require_none_on_its_way(const ProfileJob& job) {
  const std::string queued = slurm_output(
      "squeue", fmt::format("exec squeue --me --noheader --name {} --format '%F|%k'", kArrayJobName));
  for (const std::string& line : lines_of(queued)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() == 2 && cells[1] == comment_of(job)) {
      throw Error(ErrorKind::kFailed,
                  fmt::format("job {} is doing that already; watch it: squeue --job {}, or end it first: "
                              "scancel {} (--again submits another)",
                              cells[0], cells[0], cells[0]));
    }
  }
}

void wait_for_tasks(const ProfileJob& job, const std::string& id, std::vector<TypeRow>& rows) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongest(10000), kUnreachable(300000);
  const bool quiet = job.common.quiet || job.common.json;
  milliseconds pause(250), unanswered(0);
  while (true) {
    const auto shown = slurm_output_if_any("exec scontrol -o show job " + shell_quoted(id));
    unanswered = shown ? milliseconds(0) : unanswered + pause;
    if (unanswered > kUnreachable)
      throw Error(
          ErrorKind::kFailed,
          fmt::format("scontrol does not tell of job {} any more; see its logs: {}", id, array_log(id, 0)));
    bool all_ended = shown.has_value();
    const auto tasks = shown ? array_tasks(*shown) : std::map<std::size_t, ArrayTask>();
    for (TypeRow& row : rows) {
      if (!row.task || row.outcome.ended()) continue;
      const auto now = tasks.find(*row.task);
      if (now != tasks.end()) {
        if (!quiet && now->second.state != row.outcome.state) {
          const ArrayTask& task = now->second;
          put_message(fmt::format("{}: {}{}", row.type.name, task.state,
                                  task.node.empty() ? "" : " on " + task.node));
        }
        row.outcome = now->second;
      }
      all_ended = all_ended && row.outcome.ended();
    }
    if (all_ended) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongest, pause * 3 / 2);
  }
}

Json row_json(const TypeRow& row, const std::string& id) {
  Json out = {{"name", row.type.name},
              {"partition", row.type.partition},
              {"description", row.type.description},
              {"nodes", row.type.nodes},
              {"up", row.type.up},
              {"known", row.known},
              {"task", nullptr}};
  if (!row.task) return out;
  out["task"] = *row.task;
  out["state"] = row.outcome.state;
  out["node"] = row.outcome.node.empty() ? Json(nullptr) : Json(row.outcome.node);
  out["exit_code"] = row.outcome.exit_code.empty() ? Json(nullptr) : Json(row.outcome.exit_code);
  out["log"] = array_log(id, *row.task);
  return out;
}

void print_types(const ProfileJob& job, const std::string& id, const std::vector<TypeRow>& rows) {
  if (job.common.json) {
    Json types = Json::array();
    for (const TypeRow& row : rows) types.push_back(row_json(row, id));
    print_json({{"schema_version", kOutputSchemaVersion},
                {"job", id.empty() ? Json(nullptr) : Json(id)},
                {"types", types}});
    return;
  }
  Table table{{"type", "partition", "nodes", "what Slurm says of it", "outcome", "output"},
              {},
              {false, false, true},
              3};
  for (const TypeRow& row : rows)
    table.rows.push_back({row.type.name, row.type.partition, std::to_string(row.type.nodes.size()),
                          row.type.description, row.text(), row.task ? array_log(id, *row.task) : ""});
  print(table);
}

}  // namespace

void add_cluster_options(CLI::App& verb, ClusterOptions& o, bool submits) {
  verb.add_flag("--slurm", o.slurm, "Types of nodes of a Slurm cluster, instead of a file of devices");
  verb.add_option("--partitions", o.partitions, "With --slurm: those alone, a,b [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  if (!submits) return;
  verb.add_option("--sbatch-options", o.sbatch, "With --slurm: more for sbatch, \"--account lab --time 60\"");
  verb.add_flag("--dry-run", o.dry_run, "With --slurm: print the script, and submit nothing");
  verb.add_flag("--wait", o.wait, "With --slurm: until all tasks have ended, and tell what became of them");
  verb.add_flag("--again", o.again, "With --slurm: also types of nodes that are known already");
  verb.add_flag("--shared-store", o.shared_store, "With --slurm: the store is a file that all nodes see");
}

void check(const ClusterOptions& o, const CommonOptions& common) {
  if (!o.slurm) {
    if (!o.partitions.empty() || !o.sbatch.empty() || o.dry_run || o.wait || o.again || o.shared_store)
      throw bad_input(
          "--partitions, --sbatch-options, --dry-run, --wait, --again and --shared-store are about a Slurm "
          "cluster; add --slurm");
    return;
  }
  if (o.dry_run && (o.wait || common.json))
    throw bad_input("--dry-run prints a script; leave --wait and --json away");
  if (o.sbatch.find('\n') != std::string::npos) throw bad_input("--sbatch-options must be one line");
  const std::string& store = common.store;
  if (!is_server(store)) {
    if (o.shared_store) return;
    throw bad_input(
        store +
        ": a file, and each node would write one of its own; name a store on a server (--store "
        "postgresql://..., docs/store.md), or add --shared-store where all nodes see this very file");
  }
  if (printable_address(store) != store)
    throw bad_input(
        "others can read the script of a job: put the password of the store into ~/.pgpass (or the file that "
        "PGPASSFILE names) on the nodes, and leave it out of the address");
  if (is_on_this_machine(store))
    warn(store +
         ": this machine as it calls itself; nodes on other machines will not find it under that name");
}

std::string store_for_nodes(const CommonOptions& common, const ClusterOptions&) {
  if (is_server(common.store)) return common.store;
  return std::filesystem::absolute(common.store).lexically_normal().string();
}

Fleet cluster_fleet(const ClusterOptions& o) {
  Fleet fleet;
  for (const NodeType& type : ask_node_types(o))
    fleet.devices.push_back({type.name, "srun -p " + type.partition, "", ""});
  return fleet;
}

std::string done_fact(const std::string& name, const std::string& digest) {
  return "profiled/" + name + "/" + digest;
}

void submit_profiles(const ProfileJob& job) {
  std::vector<TypeRow> rows = rows_of_types(job);
  // Programs of several nodes that write into one file over a network stand in each other's way.
  ArrayJob array{
      {}, job.command, comment_of(job), job.options.sbatch, is_server(job.common.store) ? job.at_once : 1};
  for (TypeRow& row : rows) {
    if (row.known || !row.type.up) continue;
    row.task = array.types.size();
    array.types.push_back(row.type);
  }
  if (array.types.empty()) {
    print_types(job, "", rows);
    const bool all_known =
        std::all_of(rows.begin(), rows.end(), [](const TypeRow& row) { return row.known; });
    if (!all_known) throw Error(ErrorKind::kFailed, "no node is up of the types that are not known yet");
    if (!job.common.json)
      say("all types of nodes are known already, and nothing was submitted (--again does)");
    return;
  }
  const std::string script = array_script(array);
  if (job.options.dry_run) {
    put(script);
    return;
  }
  if (!job.options.again) require_none_on_its_way(job);
  const std::vector<std::string> printed = lines_of(slurm_output("sbatch", script));
  if (printed.empty()) throw Error(ErrorKind::kFailed, "sbatch printed no job");
  const std::string& id = printed.back();
  if (job.options.wait) {
    if (!job.common.quiet && !job.common.json)
      put_message(
          fmt::format("job {} was submitted; ending this program does not end it, scancel {} does", id, id));
    wait_for_tasks(job, id, rows);
  }
  print_types(job, id, rows);
  if (!job.options.wait) {
    if (!job.common.json)
      say(fmt::format(
          "job {}: watch it with squeue --job {}; once it has ended, the same again goes on with what "
          "failed, and ampere fleet estimate MODEL --slurm tells where to run",
          id, id));
    return;
  }
  std::size_t failed = 0;
  for (const TypeRow& row : rows) failed += row.task && !row.outcome.went_well() ? 1 : 0;
  if (failed > 0)
    throw Error(
        ErrorKind::kFailed,
        fmt::format("{} of {} tasks failed, see their output; what was measured is kept, and the same "
                    "again goes on where it was",
                    failed, array.types.size()));
}

}  // namespace ampere
