#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "onednn/kernels.h"
#include "onednn/operations.h"

namespace ampere::onednn {
namespace {

using dnnl::algorithm;

class Elementwise : public Operation {
 public:
  Elementwise(algorithm kind, float alpha, float beta) : kind_(kind), alpha_(alpha), beta_(beta) {}

  void prepare() override {
    const auto row = describe_rows({output->elements()});
    const dnnl::eltwise_forward::primitive_desc ahead(
        {dnnl::prop_kind::forward_training, kind_, row, alpha_, beta_}, processor());
    const dnnl::memory in = memory_at(row, x());
    forward_ = {dnnl::eltwise_forward(ahead), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, memory_at(row, y())}}};
    if (!sink(0)) return;
    const dnnl::eltwise_backward::primitive_desc back({kind_, row, row, alpha_, beta_}, processor(), ahead);
    backward_ = {dnnl::eltwise_backward(back),
                 {{DNNL_ARG_SRC, in},
                  {DNNL_ARG_DIFF_DST, memory_at(row, gradient())},
                  {DNNL_ARG_DIFF_SRC, memory_at(row, sink(0))}}};
  }
  void forward() override { forward_.run(); }
  void backward() override { backward_.run(); }

 private:
  algorithm kind_;
  float alpha_, beta_;
  Call forward_, backward_;
};

// oneDNN 2.6 has no such kernel.
class HardSigmoid : public Operation {
 public:
  void forward() override {
    for (std::int64_t i = 0; i < output->elements(); ++i) y()[i] = std::clamp(x()[i] / 6 + 0.5F, 0.0F, 1.0F);
  }
  void backward() override {
    for (std::int64_t i = 0; i < output->elements(); ++i)
      sink(0)[i] = std::fabs(x()[i]) < 3 ? gradient()[i] / 6 : 0;
  }
};

class Softmax : public Operation {
 public:
  Softmax(int axis, bool logarithm) : axis_(axis), logarithm_(logarithm) {}

  void prepare() override {
    if (logarithm_) {
      make<dnnl::logsoftmax_forward, dnnl::logsoftmax_backward>();
    } else {
      make<dnnl::softmax_forward, dnnl::softmax_backward>();
    }
  }
  void forward() override { forward_.run(); }
  void backward() override { backward_.run(); }

 private:
  template <class Forward, class Backward>
  void make() {
    const auto shape = describe_value(*output);
    const typename Forward::primitive_desc ahead({dnnl::prop_kind::forward_training, shape, axis_},
                                                 processor());
    const dnnl::memory out = memory_at(shape, y());
    forward_ = {Forward(ahead), {{DNNL_ARG_SRC, memory_at(shape, x())}, {DNNL_ARG_DST, out}}};
    if (!sink(0)) return;
    const typename Backward::primitive_desc back({shape, shape, axis_}, processor(), ahead);
    backward_ = {Backward(back),
                 {{DNNL_ARG_DST, out},
                  {DNNL_ARG_DIFF_DST, memory_at(shape, gradient())},
                  {DNNL_ARG_DIFF_SRC, memory_at(shape, sink(0))}}};
  }

  int axis_;
  bool logarithm_;
  Call forward_, backward_;
};

Value* elementwise(Graph& graph, Value* in, algorithm kind, float alpha = 0, float beta = 0) {
  return graph.add<Elementwise>({in}, graph.value(in->dims, in->layout), kind, alpha, beta);
}

}  // namespace

Value* relu(Graph& graph, Value* in) { return elementwise(graph, in, algorithm::eltwise_relu); }

Value* gelu(Graph& graph, Value* in, bool by_tanh) {
  return elementwise(graph, in, by_tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf);
}

Value* softmax(Graph& graph, Value* in, int axis, bool logarithm) {
  return graph.add<Softmax>({in}, graph.value(in->dims, in->layout), axis, logarithm);
}

Value* activation(Graph& graph, const Node& node, Value* in) {
  switch (node.op) {
    case Op::kRelu:
      return relu(graph, in);
    case Op::kRelu6:
      return elementwise(graph, in, algorithm::eltwise_clip, 0, 6);
    case Op::kLeakyRelu:
      return elementwise(graph, in, algorithm::eltwise_relu, static_cast<float>(node.real("slope")));
    case Op::kElu:
      return elementwise(graph, in, algorithm::eltwise_elu, 1);
    case Op::kGelu:
      return gelu(graph, in, node.word("approximate") == "tanh");
    case Op::kSilu:
      return elementwise(graph, in, algorithm::eltwise_swish, 1);
    case Op::kHardswish:
      return elementwise(graph, in, algorithm::eltwise_hardswish);
    case Op::kHardsigmoid:
      return graph.add<HardSigmoid>({in}, graph.value(in->dims, in->layout));
    case Op::kSigmoid:
      return elementwise(graph, in, algorithm::eltwise_logistic);
    case Op::kTanh:
      return elementwise(graph, in, algorithm::eltwise_tanh);
    default:
      throw bad_input(describe(node) + ": is no activation");
  }
}

}  // namespace ampere::onednn
