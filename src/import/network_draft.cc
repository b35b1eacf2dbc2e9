#include "import/network_draft.h"

#include <algorithm>

#include "base/error.h"
#include "base/plain_text.h"

namespace ampere {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::size_t kMostNodes = 20000;  // as in network files
constexpr std::size_t kLongestName = 120;

Ints ids(const Atoms& atoms) {
  Ints out;
  for (const Atom& a : atoms) out.push_back(a.id);
  return out;
}

Atoms flat(const Arrangement& dims) {
  Atoms out;
  for (const Atoms& d : dims) out.insert(out.end(), d.begin(), d.end());
  return out;
}

}  // namespace

std::int64_t size_of(const Atoms& atoms) {
  std::int64_t n = 1;
  for (const Atom& a : atoms) n *= a.size;
  return n;
}

std::vector<std::int64_t> View::sizes() const {
  Ints out;
  for (const Atoms& d : dims) out.push_back(size_of(d));
  return out;
}

std::string NetworkDraft::unique(const std::string& name) {
  // Files need not keep to UTF-8, and cutting may split a character: JSON could not hold either.
  const std::string stem = as_utf8(name.substr(0, kLongestName));
  std::string tried = stem;
  while (!names_.insert(tried).second) tried = stem + "_" + std::to_string(++serial_);
  return tried;
}

int NetworkDraft::add(Op op, const std::vector<int>& inputs, Attrs attrs, const std::string& name) {
  if (network_.nodes().size() >= kMostNodes)
    throw bad_input("the network has more than " + std::to_string(kMostNodes) + " nodes");
  std::vector<const Tensor*> in;
  in.reserve(inputs.size());
  for (int i : inputs) in.push_back(&shape(i));
  const int index = network_.add(op, inputs, std::move(attrs), unique(name.empty() ? name_of(op) : name));
  // Where its shapes do not fit, the node stays behind, read by nobody: the lists must not get out of step.
  shapes_.emplace_back();
  layouts_.emplace_back();
  Tensor out = infer_node(network_.nodes().back(), in, batch_);
  Arrangement layout;
  for (std::size_t i = 0; i < out.dims.size(); ++i) {
    if (i == 0)
      layout.push_back({{kBatchAtom, batch_}});
    else
      layout.push_back(out.dims[i] == 1 ? Atoms{} : Atoms{fresh(out.dims[i])});
  }
  shapes_.back() = std::move(out);
  layouts_.back() = std::move(layout);
  return index;
}

int NetworkDraft::add_like(Op op, int input, Attrs attrs, const std::string& name, bool fresh_last) {
  const int index = add(op, {input}, std::move(attrs), name);
  Arrangement kept = layout(input);
  if (fresh_last) kept.back() = layout(index).back();
  set_layout(index, std::move(kept));
  return index;
}

void NetworkDraft::set(int node, const std::string& attr, AttrValue value) {
  changed_[node][attr] = std::move(value);
}

const AttrValue& NetworkDraft::get(int n, const std::string& attr) const {
  auto it = changed_.find(n);
  if (it != changed_.end()) {
    auto found = it->second.find(attr);
    if (found != it->second.end()) return found->second;
  }
  return node(n).attrs.at(attr);
}

Atoms NetworkDraft::leaves(const Atoms& atoms) const {
  Atoms out;
  for (const Atom& a : atoms) {
    auto it = splits_.find(a.id);
    if (it == splits_.end()) {
      out.push_back(a);
    } else {
      const Atoms parts = leaves(it->second);
      out.insert(out.end(), parts.begin(), parts.end());
    }
  }
  return out;
}

bool NetworkDraft::same(const Atoms& a, const Atoms& b) const { return ids(leaves(a)) == ids(leaves(b)); }

bool NetworkDraft::reshape(const View& view, const Ints& dims, View& out) {
  Atoms left = leaves(flat(view.dims));
  std::reverse(left.begin(), left.end());  // the next one is at the back
  out = {view.node, {}};
  for (std::int64_t wanted : dims) {
    Atoms dim;
    std::int64_t have = 1;
    // A batch of one is a dimension all the same.
    if (wanted == 1 && !left.empty() && left.back().id == kBatchAtom && left.back().size == 1) {
      dim.push_back(left.back());
      left.pop_back();
    }
    while (have < wanted && !left.empty()) {
      Atom next = left.back();
      if (wanted % have != 0) return false;
      const std::int64_t need = wanted / have;
      left.pop_back();
      if (next.size > need) {
        if (next.id == kBatchAtom || next.size % need != 0) return false;
        const Atom major = fresh(need), minor = fresh(next.size / need);
        splits_[next.id] = {major, minor};
        left.push_back(minor);
        next = major;
      }
      dim.push_back(next);
      have *= next.size;
    }
    if (have != wanted) return false;
    out.dims.push_back(std::move(dim));
  }
  for (const Atom& a : left) {
    if (a.size != 1) return false;
    if (out.dims.empty()) return false;
    out.dims.back().push_back(a);
  }
  return true;
}

Arrangement NetworkDraft::canonical(const View& view) const {
  Arrangement out = {{}};
  for (const Atoms& dim : view.dims) {
    Atoms rest;
    bool batch = false;
    for (const Atom& a : leaves(dim)) {
      if (a.id == kBatchAtom) {
        out[0] = {a};
        batch = true;
      } else {
        rest.push_back(a);
      }
    }
    if (!batch || !rest.empty()) out.push_back(std::move(rest));
  }
  if (out[0].empty()) throw Unsupported("a value without the batch");
  return out;
}

int NetworkDraft::arrange(int node, const Arrangement& wanted, const std::string& name) {
  const Arrangement& have = layout(node);
  bool equal = have.size() == wanted.size();
  for (std::size_t i = 0; equal && i < have.size(); ++i) equal = same(have[i], wanted[i]);
  if (equal) return node;
  std::string key = std::to_string(node);
  for (const Atoms& dim : wanted) {
    key += "|";
    for (const Atom& a : leaves(dim)) key += std::to_string(a.id) + ",";
  }
  auto it = arranged_.find(key);
  if (it != arranged_.end()) return it->second;
  const int made = arrange_anew(node, wanted, name);
  set_layout(made, wanted);
  arranged_[key] = made;
  return made;
}

// Reshapes by the op that tells least about sizes, so that layers of other widths stay of one kind.
int NetworkDraft::resized(int node, const Ints& dims, const std::string& name) {
  const Ints have = shape(node).dims;
  if (have == dims) return node;
  const bool flattens =
      dims.size() < have.size() && dims.size() >= 2 && std::equal(dims.begin(), dims.end() - 1, have.begin());
  if (flattens)
    return add(Op::kFlatten, {node}, {{"start", static_cast<std::int64_t>(dims.size()) - 1}},
               name + ".flatten");
  Ints to(dims.size(), 0);
  std::vector<std::size_t> changed;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (i < have.size() && have[i] == dims[i]) continue;
    to[i] = dims[i];
    changed.push_back(i);
  }
  if (!changed.empty()) to[changed.back()] = -1;
  return add(Op::kReshape, {node}, {{"shape", to}}, name + ".reshape");
}

int NetworkDraft::arrange_anew(int node, const Arrangement& wanted, const std::string& name) {
  if (wanted.empty() || wanted[0].size() != 1 || wanted[0][0].id != kBatchAtom)
    throw Unsupported("the batch is moved away from the first dimension");
  const Atoms have = leaves(flat(layout(node)));
  std::map<int, std::size_t> place;
  for (std::size_t i = 0; i < have.size(); ++i) place[have[i].id] = i;
  // Runs of atoms that stay together on the way.
  struct Run {
    std::size_t first;
    std::int64_t size;
  };
  std::vector<Run> runs;
  Ints sizes;
  std::size_t count = 0;
  for (const Atoms& dim : wanted) {
    bool open = false;
    std::size_t last = 0;
    std::int64_t size = 1;
    for (const Atom& a : leaves(dim)) {
      auto at = place.find(a.id);
      if (at == place.end()) throw Unsupported("a value that mixes several others");
      if (open && at->second == last + 1) {
        runs.back().size *= a.size;
      } else {
        runs.push_back({at->second, a.size});
      }
      open = true;
      last = at->second;
      size *= a.size;
      ++count;
    }
    sizes.push_back(size);
  }
  if (count != have.size()) throw Unsupported("a part of a value");
  std::vector<std::size_t> order(runs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return runs[a].first < runs[b].first; });
  const bool moves = !std::is_sorted(order.begin(), order.end());
  if (!moves) return resized(node, sizes, name);
  // Two factors of the channels that change places.
  const bool shuffles = shape(node).dims == sizes && sizes.size() >= 3 && runs.size() == sizes.size() + 1 &&
                        order.size() > 2 && order[1] == 2 && order[2] == 1 &&
                        runs[1].size * runs[2].size == sizes[1];
  if (shuffles) return add(Op::kChannelShuffle, {node}, {{"groups", runs[2].size}}, name + ".shuffle");
  Ints units, permutation(runs.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    units.push_back(runs[order[i]].size);
    permutation[order[i]] = static_cast<std::int64_t>(i);
  }
  const int apart = resized(node, units, name);
  const int moved = add(Op::kPermute, {apart}, {{"order", permutation}}, name + ".permute");
  return resized(moved, sizes, name);
}

Network NetworkDraft::finish(const std::string& name, const std::vector<int>& outputs) const {
  const auto& nodes = network_.nodes();
  std::vector<bool> live(nodes.size(), false);
  for (int o : outputs) live[static_cast<std::size_t>(o)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int k : nodes[i].inputs) live[static_cast<std::size_t>(k)] = true;
  }
  Network out(as_utf8(name));
  std::vector<int> renamed(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    std::vector<int> inputs;
    for (int k : nodes[i].inputs) inputs.push_back(renamed[static_cast<std::size_t>(k)]);
    Attrs attrs = nodes[i].attrs;
    auto it = changed_.find(static_cast<int>(i));
    if (it != changed_.end()) {
      for (const auto& [key, value] : it->second) attrs[key] = value;
    }
    renamed[i] = out.add(nodes[i].op, std::move(inputs), std::move(attrs), nodes[i].name);
  }
  std::vector<int> results;
  results.reserve(outputs.size());
  for (int o : outputs) results.push_back(renamed[static_cast<std::size_t>(o)]);
  out.set_outputs(std::move(results));
  return out;
}

}  // namespace ampere
