// Slurm places jobs by joules (docs/fleet.md): the script that its controller runs, the table that the script
// reads, and what became of jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"
#include "ampere/recipe.h"
#include "ampere/schedule.h"
#include "ampere/tariff.h"
#include "base/json.h"

namespace ampere {

// job_submit.lua, reading that table. Throws Error{kBadInput} for a path that cannot stand in it.
std::string slurm_script(const std::string& table);
// True of a script that slurm_script() made.
bool is_slurm_script(const std::string& text);

// A network that jobs may name in their comments.
struct SlurmModel {
  std::string name;   // in comments
  std::string model;  // as `ampere estimate` takes it
  std::int64_t batch = 1;
  Recipe recipe;
  std::string method = "split";
  MeasureMode mode = MeasureMode::kEager;
};

struct SlurmFile {
  std::map<std::string, std::string> partitions;  // which device each is made of: a name in a fleet, or an id
  std::vector<SlurmModel> models;
  std::string price, carbon;  // what energy costs there (ampere/tariff.h); empty: not told
};
// Throws Error{kBadInput} that says where it is wrong.
SlurmFile read_slurm_file(const std::string& path);
SlurmFile slurm_file_from_json(const Json& json, const std::string& where);

// A line of the table: what one iteration takes on the nodes of a partition.
struct SlurmRow {
  std::string name;
  std::int64_t batch = 1;
  std::string partition;
  Interval energy_j;
  Interval time_s;
};
// With what energy costs, where that is known.
std::string slurm_table(const std::vector<SlurmRow>& rows, const Tariff& tariff = {});

// A plan as a shell script of `sbatch` calls. Devices are partitions; a job starts when the plan says and not
// before those that it waits for or that run before it on its device. In `command`, {job} is the job's name.
std::string sbatch_script(const Problem& problem, const Plan& plan, const std::string& command);

// A job that our script has looked at, as `scontrol -o show job` tells it.
struct SlurmJob {
  std::string id;
  std::string state;      // "COMPLETED"
  std::string partition;  // that it ran in
  std::string name;       // of the network
  std::string predicted_partition;
  Interval energy_j;             // predicted
  double time_s = 0;             // predicted
  std::optional<Interval> cost;  // predicted, in `currency`
  std::string currency;
  std::optional<Interval> carbon_g;  // predicted, grams of CO2 equivalent
  std::optional<double> took_s;      // once it has ended
};
// Jobs of others are left out.
std::vector<SlurmJob> slurm_jobs(const std::string& shown);

}  // namespace ampere
