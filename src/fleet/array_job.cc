#include "fleet/array_job.h"

#include <cstdlib>

#include "base/error.h"
#include "fleet/scontrol.h"
#include "protocol/process.h"

namespace ampere {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

std::string array_log(const std::string& job, std::size_t task) {
  return std::string(kArrayJobName) + "-" + job + "_" + std::to_string(task) + ".log";
}

std::string array_script(const ArrayJob& job) {
  // The task is a here-document, which a line of its own ends.
  if (job.command.find('\n') != std::string::npos)
    throw bad_input(
        "a name of a network, store or option has a line break in it, which no job's script can have");
  std::string out = "#!/bin/sh\n# One task for each type of node:\n";
  for (std::size_t i = 0; i < job.types.size(); ++i) {
    const NodeType& type = job.types[i];
    out += "#   " + std::to_string(i) + "  " + type.name + ": partition " + type.partition + ", " +
           std::to_string(type.nodes.size()) + (type.nodes.size() == 1 ? " node, " : " nodes, ") +
           type.description + "\n";
  }
  out += "set -e\njob=$(sbatch --parsable --hold --job-name " + std::string(kArrayJobName) + " --comment " +
         shell_quoted(job.comment) + " --array 0-" + std::to_string(job.types.size() - 1) +
         (job.at_once > 0 ? "%" + std::to_string(job.at_once) : "") +
         " \\\n  --nodes 1 --ntasks 1 --exclusive --mem 0 --output " +
         shell_quoted(std::string(kArrayJobName) + "-%A_%a.log") + " --partition " +
         shell_quoted(job.types.front().partition) + (job.options.empty() ? "" : " " + job.options) +
         " <<'TASK'\n#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n";
  for (std::size_t i = 0; i < job.types.size(); ++i)
    out += std::to_string(i) + ") name=" + shell_quoted(job.types[i].name) + " ;;\n";
  out += "esac\nexec " + job.command + "\nTASK\n)\njob=${job%%;*}  # of several clusters: ID;CLUSTER\n" +
         "trap 'scancel \"$job\"' EXIT\n";
  for (std::size_t i = 0; i < job.types.size(); ++i) {
    const NodeType& type = job.types[i];
    out += "scontrol update JobId=\"${job}_" + std::to_string(i) +
           "\" Partition=" + shell_quoted(type.partition) +
           (type.others.empty() ? "" : " ExcNodeList=" + shell_quoted(joined(type.others))) + "\n";
  }
  return out + "scontrol release \"$job\"\ntrap - EXIT\necho \"$job\"\n";
}

bool ArrayTask::ended() const {
  for (const char* word : {"PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED",
                           "REQUEUE_HOLD", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}) {
    if (state == word) return false;
  }
  return true;
}

std::map<std::size_t, ArrayTask> array_tasks(const std::string& printed) {
  std::map<std::size_t, ArrayTask> tasks;
  for (const std::string& line : lines_of(printed)) {
    auto fields = scontrol_fields(line);
    const std::string number = fields["ArrayTaskId"];
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto known = [&](const char* key) {
      const std::string& text = fields[key];
      return text == "(null)" || text == "None" ? "" : text;
    };
    tasks[std::strtoul(number.c_str(), nullptr, 10)] = {fields["JobState"], known("Reason"),
                                                        known("NodeList"), known("ExitCode")};
  }
  return tasks;
}

}  // namespace ampere
