// One array job of Slurm that runs the same on every type of node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/node_types.h"

namespace ampere {

struct ArrayJob {
  std::vector<NodeType> types;  // one task each, in this order
  std::string command;          // what a task runs, a shell command; $name is its type
  std::string comment;          // by which the job is found again
  std::string options;          // more of sbatch, as a shell reads them
  int at_once = 0;              // tasks at the same time; 0: all
};

inline constexpr const char* kArrayJobName = "ampere-profile";
// Where a task's output goes, from where the job was submitted.
std::string array_log(const std::string& job, std::size_t task);

// A shell script that submits it and prints the job's id. All tasks of an array ask for the same, so the job
// is submitted held, each task is sent to its partition, and then all are let go; where anything of that
// fails, nothing is left behind. A task has its node for itself: a meter counts what others do, too.
std::string array_script(const ArrayJob& job);

// What became of a task.
struct ArrayTask {
  std::string state = "PENDING";  // "RUNNING", "COMPLETED", ...
  std::string reason;             // it waits, or failed
  std::string node;
  std::string exit_code;  // "1:0", as Slurm writes it: status and signal
  bool ended() const;
  bool went_well() const { return state == "COMPLETED"; }
};
// By number, from what `scontrol -o show job ID` printed. Those that Slurm has forgotten are missing.
std::map<std::size_t, ArrayTask> array_tasks(const std::string& printed);

}  // namespace ampere
