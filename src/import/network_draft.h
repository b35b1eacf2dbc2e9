// A network under construction, and views of its values.
//
// Exported graphs reshape and transpose all the time, mostly to no effect: attention moves the batch to the
// second place and back, linear layers fold batch and length into one. So a value is a view of a node: which
// factors of the node's dimensions ("atoms") stand where. Reshaping and transposing only change the view;
// nodes are made when an op computes, in a form with the batch first, and mostly none is needed. The batch is
// an atom of its own, so what comes out holds for every batch size, whatever the file was exported with.
#pragma once

#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "network/network.h"
#include "network/shape.h"

namespace ampere {

// Something the importer cannot express; caught per node of the file, so that all are told at once.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Atom {
  int id = 0;  // 0 is the batch
  std::int64_t size = 1;
};
using Atoms = std::vector<Atom>;  // one dimension: the product of these; none: 1
using Arrangement = std::vector<Atoms>;

inline constexpr int kBatchAtom = 0;

struct View {
  int node = -1;
  Arrangement dims;

  std::vector<std::int64_t> sizes() const;
};

std::int64_t size_of(const Atoms& atoms);

class NetworkDraft {
 public:
  // `batch` is that of the shapes in the file.
  explicit NetworkDraft(std::int64_t batch) : batch_(batch) {}

  std::int64_t batch() const { return batch_; }

  // Adds a node. Its dimensions are new atoms, but for the batch.
  int add(Op op, const std::vector<int>& inputs, Attrs attrs, const std::string& name);
  // Adds a node that works on single elements, or on the last dimension: the atoms stay, but for `fresh` ones
  // at the end, which have a new size.
  int add_like(Op op, int input, Attrs attrs, const std::string& name, bool fresh_last = false);
  const Tensor& shape(int node) const { return shapes_[static_cast<std::size_t>(node)]; }
  const Node& node(int n) const { return network_.nodes()[static_cast<std::size_t>(n)]; }
  const Arrangement& layout(int node) const { return layouts_[static_cast<std::size_t>(node)]; }
  void set_layout(int node, Arrangement layout) {
    layouts_[static_cast<std::size_t>(node)] = std::move(layout);
  }
  // Changes an attribute that no shape depends on.
  void set(int node, const std::string& attr, AttrValue value);
  const AttrValue& get(int node, const std::string& attr) const;

  View view_of(int node) const { return {node, layout(node)}; }
  Atom fresh(std::int64_t size) { return {next_atom_++, size}; }
  // An atom as the atoms it was split into, if it was.
  Atoms leaves(const Atoms& atoms) const;
  bool same(const Atoms& a, const Atoms& b) const;

  // The view with other dimensions. Splits atoms where they must be; false where that cannot be told by
  // views.
  bool reshape(const View& view, const std::vector<std::int64_t>& dims, View& out);

  // The batch first, then what is left of each dimension: the form that nodes have.
  Arrangement canonical(const View& view) const;
  // A node that holds the view's elements in this arrangement: the view's own, or made by reshape, permute.
  int arrange(int node, const Arrangement& wanted, const std::string& name);

  // The network of all that the outputs depend on.
  Network finish(const std::string& name, const std::vector<int>& outputs) const;

 private:
  int arrange_anew(int node, const Arrangement& wanted, const std::string& name);
  int resized(int node, const std::vector<std::int64_t>& dims, const std::string& name);
  std::string unique(const std::string& name);

  std::int64_t batch_;
  Network network_;
  // References to these stay good while nodes are added.
  std::deque<Tensor> shapes_;
  std::deque<Arrangement> layouts_;
  std::map<int, Attrs> changed_;
  std::map<int, Atoms> splits_;
  std::unordered_set<std::string> names_;
  std::map<std::string, int> arranged_;
  int next_atom_ = 1;
  int serial_ = 1;
};

}  // namespace ampere
