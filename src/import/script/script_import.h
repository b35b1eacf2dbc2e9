// The state of one import and the steps that its ops are made of. Used by the tables of ops only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/import.h"
#include "import/network_draft.h"
#include "import/script/traced_value.h"
#include "network/recorded_pass.h"

namespace ampere::script {

using Dims = std::vector<std::int64_t>;

// A view whose node has the batch first and then one axis for each dimension; what else is in the batch's
// dimension (heads, windows) is an axis of its own.
struct Straight {
  View view;
  std::vector<int> axes;  // for each dimension: its axis, or 0 when the batch is in it
};

// Steps throw Unsupported for what a Network cannot express.
class ScriptImport {
 public:
  ScriptImport(const RecordedPass& pass, const ImportOptions& options, std::string where);
  Imported run(const std::string& name);

  // The op at hand: its arguments and outputs.
  const RecordedOp& op() const { return *op_; }
  bool has(const char* name) const;  // given and not None
  std::int64_t integer(const char* name, std::int64_t fallback) const;
  double number(const char* name, double fallback) const;
  bool flag(const char* name, bool fallback) const;
  Dims integers(const char* name, Dims fallback) const;  // a single number is a list of one
  const TracedValue& tensor(const char* name) const;
  std::vector<TracedValue> tensors(const char* name) const;
  const RecordedTensor& output(std::size_t which = 0) const;
  const Dims& output_shape(std::size_t which = 0) const { return output(which).shape; }
  std::size_t outputs() const { return op_->outputs.size(); }
  // True when one op reads the first output, once.
  bool output_read_once() const { return values_[static_cast<std::size_t>(op_->outputs.at(0))].read_once; }

  // What an output is. Data must have the shape that was recorded.
  void set(std::size_t which, TracedValue value);
  // `scaled`: still to be multiplied by a number.
  void set_data(std::size_t which, View view, bool scaled = false);

  // An argument as data; spells scores out.
  View data(const TracedValue& value);
  Straight straight(const TracedValue& value);
  Straight straightened(const View& view);
  // A node over (batch, channels, ...): what convolutions and pools read.
  int plain(const TracedValue& value);
  View reshaped(const View& view, const Dims& shape);
  // The axis of a dimension; never the batch.
  static int axis(const Straight& in, std::int64_t dim);

  // An op that keeps the shape of the one tensor it reads, whichever way that is turned.
  void elementwise(Op op, const TracedValue& in, Attrs attrs = {});
  int add(Op op, const std::vector<int>& inputs, Attrs attrs);
  // An op that reads a straight view and changes the sizes of some axes only.
  View derived(Op op, const Straight& in, Attrs attrs, const std::vector<int>& changed);
  // A name for a node of the op at hand: where in the module it stands.
  std::string node_name(Op op) const;
  // True the first time that this parameter is used as a weight.
  bool first_use(const std::string& parameter);
  void note(const std::string& text);
  // A traced module keeps the mode it was traced in.
  void traced_for_inference();

  NetworkDraft draft;

 private:
  void convert(const RecordedOp& op);
  void mark_unsupported(const std::string& why);
  void add_input(int tensor);
  std::vector<int> final_nodes();
  void count_weights();

  const RecordedPass& pass_;
  const ImportOptions& options_;
  std::string where_;
  Imported result_;
  double ignored_flops_ = 0;
  const RecordedOp* op_ = nullptr;
  std::vector<TracedValue> values_;
  std::set<std::string> containers_;  // modules that have others inside
  std::vector<int> int_inputs_;       // nodes
  std::set<std::string> used_;
};

using ScriptStep = std::function<void(ScriptImport&)>;
using ScriptSteps = std::map<std::string, ScriptStep>;  // by the op's name without "aten::" and final "_"

void add_weight_steps(ScriptSteps& steps);     // convolutions, linear, embeddings, recurrent layers, norms
void add_pointwise_steps(ScriptSteps& steps);  // activations, arithmetic, pools
void add_shape_steps(ScriptSteps& steps);      // views, slices, concatenation
void add_attention_steps(ScriptSteps& steps);  // products of two tensors, softmax, attention

// One number where all are the same: networks are written so, and kinds are told by it.
Dims shortest(const Dims& values);

// Dimension `dim` of `rank`, counted from the end when negative.
std::size_t normal_dim(std::int64_t dim, std::size_t rank);

// The size of a dimension; Unsupported where there is none, as in passes that nobody recorded.
std::int64_t size_at(const Dims& shape, std::size_t dim);

// Emits the ops that scores stand for.
View spelled_out(ScriptImport& import, const Scores& scores);

// How many numbers a tensor of this shape has.
std::int64_t elements(const Dims& shape);

}  // namespace ampere::script
