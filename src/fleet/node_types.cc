#include "fleet/node_types.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "fleet/scontrol.h"

namespace ampere {
namespace {

struct NodeRow {
  std::string partition, node, cpus, memory_mb, features, gres, state;

  bool is_like(const NodeRow& other) const {
    return cpus == other.cpus && memory_mb == other.memory_mb && features == other.features &&
           gres == other.gres;
  }
};

std::string or_nothing(const std::string& text) { return text == "(null)" || text == "N/A" ? "" : text; }

std::vector<NodeRow> rows_of(const std::string& printed) {
  std::vector<NodeRow> rows;
  for (const std::string& line : lines_of(printed)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 7) continue;
    rows.push_back(
        {cells[0], cells[1], cells[2], cells[3], or_nothing(cells[4]), or_nothing(cells[5]), cells[6]});
  }
  return rows;
}

// "idle", "mixed", "allocated~"; a * stands behind the state of a node that does not answer.
bool is_up(const std::string& state) {
  if (state.empty() || state.back() == '*') return false;
  for (const char* word : {"down", "drain", "fail", "error", "unknown", "inval"}) {
    if (state.rfind(word, 0) == 0) return false;
  }
  return true;
}

// Nodes of one partition that are alike.
struct NodeGroup {
  NodeRow like;
  std::vector<std::string> nodes;
  bool up = false;
  std::set<std::string> everywhere;  // of its type, in whatever partition
};

std::vector<NodeGroup> groups_in(const std::vector<NodeRow>& rows, const std::string& partition) {
  std::vector<NodeGroup> groups;
  for (const NodeRow& row : rows) {
    if (row.partition != partition) continue;
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const NodeGroup& group) { return group.like.is_like(row); });
    if (it == groups.end()) it = groups.insert(groups.end(), {row, {}, false, {}});
    it->nodes.push_back(row.node);
    it->everywhere.insert(row.node);
    it->up = it->up || is_up(row.state);
  }
  return groups;
}

// What tells the types of a partition apart, in as few words as do.
std::vector<std::string> words_apart(const std::vector<NodeGroup>& groups) {
  using Words = std::string (*)(const NodeRow&);
  const Words ways[] = {[](const NodeRow& r) { return r.features; }, [](const NodeRow& r) { return r.gres; },
                        [](const NodeRow& r) { return r.cpus + "cpus"; },
                        [](const NodeRow& r) { return r.memory_mb + "MB"; }};
  for (const Words way : ways) {
    std::vector<std::string> words(groups.size());
    std::transform(groups.begin(), groups.end(), words.begin(),
                   [&](const NodeGroup& group) { return way(group.like); });
    const std::set<std::string> distinct(words.begin(), words.end());
    if (distinct.size() == groups.size() && distinct.count("") == 0) return words;
  }
  std::vector<std::string> words;
  words.reserve(groups.size());
  for (const NodeGroup& group : groups) {
    const NodeRow& r = group.like;
    words.push_back(r.features + "," + r.gres + "," + r.cpus + "cpus," + r.memory_mb + "MB");
  }
  return words;
}

std::string description_of(const NodeRow& r) {
  std::string text = r.cpus + " CPUs, " + r.memory_mb + " MB";
  for (const std::string& more : {r.features, r.gres}) {
    if (!more.empty()) text += ", " + more;
  }
  return text;
}

std::vector<std::string> partitions_of(const std::vector<NodeRow>& rows) {
  std::vector<std::string> names;
  for (const NodeRow& row : rows) {
    if (std::find(names.begin(), names.end(), row.partition) == names.end()) names.push_back(row.partition);
  }
  return names;
}

}  // namespace

std::vector<NodeType> node_types(const std::string& printed, const std::vector<std::string>& asked) {
  const std::vector<NodeRow> rows = rows_of(printed);
  const std::vector<std::string> known = partitions_of(rows);
  for (const std::string& partition : asked) {
    if (std::find(known.begin(), known.end(), partition) != known.end()) continue;
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    throw bad_input("the cluster has no partition \"" + partition + "\" (it has: " + list + ")");
  }
  std::vector<NodeType> types;
  std::vector<NodeGroup> first;  // group of each type
  for (const std::string& partition : asked.empty() ? known : asked) {
    const std::vector<NodeGroup> groups = groups_in(rows, partition);
    const std::vector<std::string> words = words_apart(groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const NodeGroup& group = groups[g];
      NodeType type{groups.size() == 1 ? partition : partition + "/" + words[g],
                    partition,
                    description_of(group.like),
                    group.nodes,
                    {},
                    group.up};
      for (const NodeGroup& other : groups) {
        if (&other != &group) type.others.insert(type.others.end(), other.nodes.begin(), other.nodes.end());
      }
      // Partitions may share nodes: what is alike and has one in common is one type.
      std::size_t same = 0;
      while (same < types.size() &&
             !(first[same].like.is_like(group.like) &&
               std::any_of(group.nodes.begin(), group.nodes.end(),
                           [&](const std::string& node) { return first[same].everywhere.count(node) > 0; })))
        ++same;
      if (same == types.size()) {
        types.push_back(std::move(type));
        first.push_back(group);
        continue;
      }
      first[same].everywhere.insert(group.nodes.begin(), group.nodes.end());
      if (!types[same].up && type.up) {  // there, its nodes run jobs
        type.name = types[same].name;
        types[same] = std::move(type);
      }
    }
  }
  return types;
}

}  // namespace ampere
