// ampere fleet on a Slurm cluster: its types of nodes are the devices.
#pragma once

#include <string>
#include <vector>

#include "common.h"
#include "fleet/fleet_file.h"

namespace ampere {

struct ClusterOptions {
  bool slurm = false;
  std::vector<std::string> partitions;  // empty: all
  std::string sbatch;                   // more options of sbatch, as a shell reads them
  bool dry_run = false;                 // print the script that would be run
  bool wait = false;                    // until all tasks have ended
  bool again = false;                   // also types that are known, and where such a job is on its way
  bool shared_store = false;            // the store is a file that all nodes see
};

// --slurm and --partitions; `submits`: and those about the job.
void add_cluster_options(CLI::App& verb, ClusterOptions& options, bool submits = true);
// Throws Error{kBadInput} where options do not go together, or the nodes could not reach the store.
void check(const ClusterOptions& options, const CommonOptions& common);
// The store as tasks on other nodes must name it.
std::string store_for_nodes(const CommonOptions& common, const ClusterOptions& options);

// The types of nodes as devices of a fleet, each reached by srun. Asks sinfo.
Fleet cluster_fleet(const ClusterOptions& options);

// The fact by which a store knows that a device, called so, was profiled for all that was asked.
std::string done_fact(const std::string& name, const std::string& digest);

struct ProfileJob {
  const CommonOptions& common;
  const ClusterOptions& options;
  std::string digest;   // of all that is asked
  std::string command;  // of a task
  int at_once = 0;      // 0: all
};
// Submits one array job, with a task for every type of node that is not known yet. Throws Error{kFailed}
// where Slurm refuses, and where a task fails that was waited for.
void submit_profiles(const ProfileJob& job);

}  // namespace ampere
