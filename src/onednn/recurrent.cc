#include <algorithm>
#include <cmath>

#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

using Description = dnnl::memory::desc;

// One layer of an LSTM or GRU over sequences (length, batch, features). Inputs: x, the weights of x, those of
// the state before, and the bias where there is one.
class Recurrent : public Operation {
 public:
  struct Sizes {
    std::int64_t length, batch, in, hidden, directions;
    bool lstm;
    std::int64_t gates() const { return lstm ? 4 : 3; }
    // The GRU that frameworks have resets the state after its product, whose bias stands apart.
    std::int64_t biases() const { return 4; }
  };

  explicit Recurrent(const Sizes& sizes) : s_(sizes) {}

  void prepare() override {
    in_ = describe_rows({s_.length, s_.batch, s_.in});
    out_ = describe_rows({s_.length, s_.batch, s_.directions * s_.hidden});
    bias_ = inputs.size() > 3 ? describe_rows({1, s_.directions, s_.biases(), s_.hidden}) : Description();
    if (s_.lstm) {
      prepare_lstm();
    } else {
      prepare_gru();
    }
  }
  void forward() override {
    for (const Call& call : forward_) call.run();
  }
  void backward() override {
    // The kernel adds to the gradients of the weights.
    for (const dnnl::memory& sums : sums_)
      std::fill_n(static_cast<float*>(sums.get_data_handle()), sums.get_desc().get_size() / sizeof(float),
                  0.0F);
    for (const Call& call : backward_) call.run();
  }

 private:
  Dims weights(std::int64_t rows) const { return {1, s_.directions, rows, s_.gates(), s_.hidden}; }
  dnnl::rnn_direction direction() const {
    return s_.directions == 2 ? dnnl::rnn_direction::bidirectional_concat
                              : dnnl::rnn_direction::unidirectional_left2right;
  }

  void prepare_lstm() {
    const Description none;
    const auto wx = any_layout(weights(s_.in)), wh = any_layout(weights(s_.hidden));
    const dnnl::lstm_forward::primitive_desc ahead(
        {dnnl::prop_kind::forward_training, direction(), in_, none, none, wx, wh, bias_, out_, none, none},
        processor());
    add_forward<dnnl::lstm_forward>(ahead);
    if (!output->wants_gradient) return;
    const dnnl::lstm_backward::primitive_desc back({dnnl::prop_kind::backward,
                                                    direction(),
                                                    in_,
                                                    none,
                                                    none,
                                                    wx,
                                                    wh,
                                                    bias_,
                                                    out_,
                                                    none,
                                                    none,
                                                    in_,
                                                    none,
                                                    none,
                                                    wx,
                                                    wh,
                                                    bias_,
                                                    out_,
                                                    none,
                                                    none},
                                                   processor(), ahead);
    add_backward<dnnl::lstm_backward>(back);
  }

  void prepare_gru() {
    const Description none;
    const auto wx = any_layout(weights(s_.in)), wh = any_layout(weights(s_.hidden));
    const dnnl::lbr_gru_forward::primitive_desc ahead(
        {dnnl::prop_kind::forward_training, direction(), in_, none, wx, wh, bias_, out_, none}, processor());
    add_forward<dnnl::lbr_gru_forward>(ahead);
    if (!output->wants_gradient) return;
    const dnnl::lbr_gru_backward::primitive_desc back(
        {dnnl::prop_kind::backward, direction(), in_, none, wx, wh, bias_, out_, none, in_, none, wx, wh,
         bias_, out_, none},
        processor(), ahead);
    add_backward<dnnl::lbr_gru_backward>(back);
  }

  // The weights in the layout that a kernel likes, copied there before it runs.
  dnnl::memory in_kernel_layout(std::size_t input, std::int64_t rows, const Description& wanted,
                                std::vector<Call>& calls) const {
    dnnl::memory plain = memory_at(describe_rows(weights(rows)), x(input));
    if (wanted == plain.get_desc()) return plain;
    dnnl::memory other(wanted, processor());
    calls.push_back(reorder(plain, other));
    return other;
  }

  template <class Forward>
  void add_forward(const typename Forward::primitive_desc& ahead) {
    const dnnl::memory wx = in_kernel_layout(1, s_.in, ahead.weights_layer_desc(), forward_);
    const dnnl::memory wh = in_kernel_layout(2, s_.hidden, ahead.weights_iter_desc(), forward_);
    workspace_ = dnnl::memory(ahead.workspace_desc(), processor());
    forward_.push_back({Forward(ahead),
                        {{DNNL_ARG_SRC_LAYER, memory_at(in_, x())},
                         {DNNL_ARG_WEIGHTS_LAYER, wx},
                         {DNNL_ARG_WEIGHTS_ITER, wh},
                         {DNNL_ARG_DST_LAYER, memory_at(out_, y())},
                         {DNNL_ARG_WORKSPACE, workspace_}}});
    if (inputs.size() > 3) forward_.back().arguments.emplace(DNNL_ARG_BIAS, memory_at(bias_, x(3)));
  }

  // Where a kernel puts the gradient of weights; copied to the sink after it ran if the layout is another.
  dnnl::memory gradient_memory(std::size_t input, std::int64_t rows, const Description& made,
                               std::vector<Call>& after) {
    const dnnl::memory plain = memory_at(describe_rows(weights(rows)), sink(input));
    dnnl::memory sums = made == plain.get_desc() ? plain : dnnl::memory(made, processor());
    sums_.push_back(sums);
    if (made != plain.get_desc()) after.push_back(reorder(sums, plain));
    return sums;
  }

  template <class Backward>
  void add_backward(const typename Backward::primitive_desc& back) {
    std::vector<Call> after;
    if (!sink(0)) unwanted_ = Buffer(inputs[0]->elements());
    Call call{
        Backward(back),
        {{DNNL_ARG_SRC_LAYER, memory_at(in_, x())},
         {DNNL_ARG_WEIGHTS_LAYER, in_kernel_layout(1, s_.in, back.weights_layer_desc(), backward_)},
         {DNNL_ARG_WEIGHTS_ITER, in_kernel_layout(2, s_.hidden, back.weights_iter_desc(), backward_)},
         {DNNL_ARG_DST_LAYER, memory_at(out_, y())},
         {DNNL_ARG_WORKSPACE, workspace_},
         {DNNL_ARG_DIFF_DST_LAYER, memory_at(out_, gradient())},
         {DNNL_ARG_DIFF_SRC_LAYER, memory_at(in_, sink(0) ? sink(0) : unwanted_.data())},
         {DNNL_ARG_DIFF_WEIGHTS_LAYER, gradient_memory(1, s_.in, back.diff_weights_layer_desc(), after)},
         {DNNL_ARG_DIFF_WEIGHTS_ITER, gradient_memory(2, s_.hidden, back.diff_weights_iter_desc(), after)}}};
    if (inputs.size() > 3) {
      call.arguments.emplace(DNNL_ARG_BIAS, memory_at(bias_, x(3)));
      const dnnl::memory sums = memory_at(bias_, sink(3));
      sums_.push_back(sums);
      call.arguments.emplace(DNNL_ARG_DIFF_BIAS, sums);
    }
    backward_.push_back(std::move(call));
    backward_.insert(backward_.end(), after.begin(), after.end());
  }

  Sizes s_;
  Description in_, out_, bias_;
  dnnl::memory workspace_;
  std::vector<dnnl::memory> sums_;
  Buffer unwanted_;
  std::vector<Call> forward_, backward_;
};

}  // namespace

Value* recurrent(Graph& graph, const Node& node, Value* in) {
  const std::int64_t hidden = node.integer("hidden_size"), directions = node.flag("bidirectional") ? 2 : 1;
  const float range = 1 / std::sqrt(static_cast<float>(hidden));
  // The kernels step through time, so time comes first between the layers.
  Value* at = permuted(graph, in, {1, 0, 2});
  for (std::int64_t layer = 0; layer < node.integer("num_layers"); ++layer) {
    const Recurrent::Sizes s{at->dims[0], at->dims[1], at->dims[2], hidden, directions, node.op == Op::kLstm};
    std::vector<Value*> inputs = {at, graph.parameter({directions, s.in, s.gates(), hidden}, range),
                                  graph.parameter({directions, hidden, s.gates(), hidden}, range)};
    if (node.flag("bias")) inputs.push_back(graph.parameter({directions, s.biases(), hidden}, range));
    at = graph.add<Recurrent>(inputs, graph.value({s.length, s.batch, directions * hidden}), s);
  }
  return permuted(graph, at, {1, 0, 2});
}

}  // namespace ampere::onednn
