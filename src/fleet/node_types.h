// Which types of nodes a Slurm cluster has.
#pragma once

#include <string>
#include <vector>

namespace ampere {

// Nodes that Slurm describes alike: the same CPUs, memory, features and generic resources, in one partition
// or in partitions that share such nodes.
struct NodeType {
  std::string name;                 // the partition's, and what sets it apart where that has several types
  std::string partition;            // that a job for it goes to
  std::string description;          // "16 CPUs, 16000 MB, a100, gpu:4"
  std::vector<std::string> nodes;   // of this type in that partition
  std::vector<std::string> others;  // of the partition, of other types
  bool up = false;                  // any of them runs jobs
};

// What `sinfo --noheader --Node --format` is to print.
inline constexpr const char* kNodeFormat = "%R|%N|%c|%m|%f|%G|%T";

// From what it printed. `partitions`: those alone, in that order; empty: all. Throws Error{kBadInput} for a
// partition that is not there.
std::vector<NodeType> node_types(const std::string& printed, const std::vector<std::string>& partitions);

}  // namespace ampere
