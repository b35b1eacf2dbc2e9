// The state of one import, which the handlers of ops (ops_*.cc) read and change.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>

#include "import/import.h"
#include "import/network_draft.h"
#include "import/onnx/onnx_model.h"

namespace ampere {

// Scores of attention on their way from the first product to the second.
struct Scores {
  View query, key;  // (batch, heads, length, width), (batch, heads, width, length)
  std::string name;
  bool masked = false;
  bool softmax = false;
  double dropout = 0;
  std::int64_t bias_rows = 0;  // of the table that a trained bias of every head is looked up in; 0: none
};

// What a name of the file stands for.
struct Value {
  enum class Kind {
    kUnknown,   // behind an op that is not supported
    kConstant,  // weights, masks, sizes: the same in every iteration
    kData,      // a value of the network
    kSide,      // computed from whole numbers or random ones; only its shape is known
    kScores,    // see Scores
  };
  Kind kind = Kind::kUnknown;
  onnx::ElementType type = onnx::ElementType::kFloat;
  View view;
  bool scaled = false;  // kData: still to be multiplied by a number
  std::vector<std::int64_t>
      pads;  // kData: still to be padded by this, first before, then behind each dimension
  onnx::Constant constant;
  bool learned = false;            // kConstant: trained; kSide: a part of it is
  std::string source;              // kConstant: the initializer it is, perhaps transposed
  std::int64_t rows = 0;           // kConstant: looked up in a table of so many rows
  std::vector<std::int64_t> dims;  // kSide
  bool random = false;             // kSide: drawn in every iteration
  double keep = 1;                 // of random ones: the share that is kept
  std::shared_ptr<Scores> scores;
  std::shared_ptr<Scores> guards;  // kSide: tells where these are no numbers
};

class Importer {
 public:
  Importer(const onnx::Model& model, const ImportOptions& options, std::string where);
  Imported run(const std::string& name);

  // For handlers.
  const Value& value(const std::string& name) const;
  bool has(const onnx::Node& node, std::size_t input) const;
  const Value& input(const onnx::Node& node, std::size_t index) const;
  // The input as a view of a node; scores and pending factors are worked out first.
  View data(const onnx::Node& node, std::size_t index);
  View data(const Value& value, const std::string& name);
  const onnx::Constant& constant(const onnx::Node& node, std::size_t index) const;  // throws Unsupported
  std::vector<const onnx::Constant*> constants(const onnx::Node& node) const;  // null: none or not constant
  std::vector<std::int64_t> sizes(const Value& value) const;
  void put(const onnx::Node& node, View view, std::size_t output = 0);
  void put(const onnx::Node& node, Value value, std::size_t output = 0);
  bool used(const onnx::Node& node, std::size_t output) const;
  int uses(const std::string& name) const;

  // A node that is exactly as the file sees it, batch first.
  int as_is(const View& view, const std::string& name);
  // A node whose last dimension is the view's; the others in any form.
  int features_last(const View& view, const std::string& name);
  std::string name_for(const onnx::Node& node, const std::string& weight = "") const;

  // The node that reads a value, if there is but one.
  const onnx::Node* only_reader(const std::string& name) const;

  // A node that is a part of another along one axis.
  struct Part {
    int source;
    std::int64_t axis, start, end, whole;
  };
  // Null: it is none.
  const Part* part(int node) const;
  // Elements start to end of one axis of a node: made once, however often it is asked for.
  int slice(int node, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step,
            const std::string& name);
  bool slice_is_old() const { return slice_is_old_; }  // the last slice() had been made before

  NetworkDraft& draft() { return draft_; }
  const onnx::Model& model() const { return model_; }
  const ImportOptions& options() const { return options_; }
  Imported& result() { return result_; }
  std::int64_t opset() const { return model_.opset; }
  bool by_torch_export() const {
    return by_torch_export_;
  }  // torch.onnx.export(dynamo=True) or later's default

  struct Seen {
    int batchnorms = 0, batchnorms_in_training = 0, batchnorms_folded = 0, dropouts = 0;
    int position_tables = 0;  // that were folded into biases of attention
    std::vector<int> bare;    // convolutions and linear layers without a bias
  };
  Seen seen;
  std::set<std::string> tables;  // initializers that embeddings read
  std::set<std::string> biases;  // tables that biases of attention are looked up in
  std::set<int> half_done;       // norms whose scale was found, but not their bias yet

 private:
  // True where the elements of each sample lie as the view has them.
  bool in_order(const View& view) const;
  void read_inputs();
  void step(const onnx::Node& node);
  bool fold(const onnx::Node& node);
  bool aside(const onnx::Node& node);
  void keep_table(const onnx::Node& node, Value& sum) const;
  void unsupported(const onnx::Node& node, const std::string& why);
  void pass_through(const onnx::Node& node);
  std::vector<int> outputs();
  void restore_biases();
  void add_notes();
  void refuse_unsupported() const;

  const onnx::Model& model_;
  const ImportOptions& options_;
  std::string where_;
  NetworkDraft draft_;
  Imported result_;
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, int> uses_;
  std::unordered_map<std::string, const onnx::Node*> reader_;
  std::map<int, Part> parts_;
  std::map<std::vector<std::int64_t>, int> slices_;
  bool slice_is_old_ = false;
  std::size_t kept_values_ = 0;
  double ignored_flops_ = 0;
  bool by_torch_export_ = false;
};

using Handler = void (*)(Importer&, const onnx::Node&);
// Null for an op that is not supported.
Handler find_handler(const std::string& op);

// Each adds its ops to the table.
using Handlers = std::unordered_map<std::string, Handler>;
void add_layer_ops(Handlers& handlers);        // ops_layers.cc: convolutions, linear layers, recurrent ones
void add_norm_ops(Handlers& handlers);         // ops_norms.cc: norms, pools, reductions
void add_elementwise_ops(Handlers& handlers);  // ops_elementwise.cc: activations, sums, products
void add_shape_ops(Handlers& handlers);        // ops_shapes.cc: reshapes, slices, concatenation
void add_attention_ops(Handlers& handlers);    // ops_attention.cc: products of two values, softmax

void add_einsum_op(Handlers& handlers);  // ops_einsum.cc

// The product of two values, which may be the beginning of attention, or the end of it.
void put_product(Importer& im, const onnx::Node& node, const Value& a, const Value& b);
// Adds a trained bias of every head to the scores. False where the constant is none but a mask.
bool add_trained_bias(Importer& im, const Value& bias, Scores& scores);
// The scores as plain nodes, where they turn out not to be attention.
View spelled_out(Importer& im, const Scores& scores);
// A view times a number, a sum with a mask and the like: one pass over the data.
View one_pass(Importer& im, const View& view, const std::string& name);
// A linear layer over the last dimension of the view.
View linear(Importer& im, const View& view, std::int64_t out, bool bias, const std::string& name);

}  // namespace ampere
