#include "work/captured_work.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "work/call_tensors.h"

namespace ampere {
namespace {

using Names = std::set<std::string>;

Names words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

constexpr double kMostOfAnything = 1e30;

// Another look at the same memory, or memory that nobody writes to: no work.
const Names& views() {
  static const Names names = words(
      "t transpose view _unsafe_view permute expand detach alias slice select unsqueeze squeeze "
      "split chunk reshape unbind split_with_sizes empty lift_fresh as_strided empty_like "
      "as_strided_ new_empty_strided empty_strided new_empty unfold diagonal view_as expand_as "
      "_reshape_alias narrow movedim squeeze_ unsqueeze_ _local_scalar_dense");
  return names;
}

const Names& copies() {
  static const Names names = words(
      "_to_copy copy_ clone cat contiguous roll constant_pad_nd stack repeat zeros ones full "
      "fill_ select_backward slice_backward zero_ arange zeros_like ones_like new_zeros "
      "new_ones");
  return names;
}

// Of copies, by how they go through memory.
std::string copy_name(const std::string& op) {
  static const std::map<std::string, std::string> others = {
      {"cat", "joined"},          {"stack", "joined"},          {"roll", "moved"},
      {"repeat", "moved"},        {"constant_pad_nd", "moved"}, {"select_backward", "moved"},
      {"slice_backward", "moved"}};
  const auto found = others.find(op);
  return found == others.end() ? "copy" : found->second;
}

const Names& reductions() {
  static const Names names =
      words("sum mean mse_loss var amax argmax cumsum any all max min norm linalg_vector_norm");
  return names;
}

// Reads or writes rows that numbers point at.
const Names& gathers() {
  static const Names names = words(
      "embedding embedding_dense_backward index index_put gather index_select scatter "
      "scatter_add index_add nll_loss_backward _index_put_impl_ nll_loss2d_backward nll_loss_forward "
      "nll_loss2d_forward");
  return names;
}

const Names& pools() {
  static const Names names = words(
      "max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices "
      "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward avg_pool2d avg_pool2d_backward "
      "upsample_bilinear2d upsample_bilinear2d_backward upsample_nearest2d "
      "upsample_nearest2d_backward");
  return names;
}

bool is_pointwise(std::string op) {
  static const Names names = words(
      "add sub rsub mul div relu threshold gelu silu sigmoid tanh exp log sqrt rsqrt pow where "
      "neg abs sgn sign clamp clamp_min clamp_max native_dropout bernoulli hardtanh hardswish "
      "hardsigmoid leaky_relu elu softplus mish glu log_sigmoid logit erf sin cos reciprocal "
      "square lerp addcmul addcdiv eq ne lt le gt ge logical_and logical_or logical_not "
      "logical_xor bitwise_and bitwise_or bitwise_not masked_fill maximum minimum remainder "
      "fmod floor_divide floor ceil round log1p expm1 isnan isinf isfinite uniform normal "
      "random rand randn rand_like randn_like tril triu smooth_l1_loss huber_loss "
      "binary_cross_entropy mse_loss l1_loss binary_cross_entropy_with_logits softshrink "
      "hardshrink atan nan_to_num scalar_tensor");
  if (!op.empty() && op.back() == '_') op.pop_back();
  const std::string backward = "_backward";
  if (op.size() > backward.size() && op.compare(op.size() - backward.size(), backward.size(), backward) == 0)
    op.erase(op.size() - backward.size());
  return names.count(op) > 0;
}

// Of pointwise calls, those that compute more than they move, by what they are alike in.
std::string pointwise_name(const std::string& op) {
  static const std::map<std::string, std::string> heavy = {
      {"gelu", "function"},          {"gelu_backward", "function"}, {"silu", "function"},
      {"silu_backward", "function"}, {"tanh", "function"},          {"pow", "function"},
      {"native_dropout", "random"},  {"bernoulli_", "random"}};
  const auto found = heavy.find(op);
  return found == heavy.end() ? "plain" : found->second;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A norm's name without what tells its gradient; empty for other calls.
std::string norm_name(const std::string& op) {
  static const std::map<std::string, std::string> names = {{"cudnn_batch_norm", "batch_norm"},
                                                           {"native_batch_norm", "batch_norm"},
                                                           {"_native_batch_norm_legit", "batch_norm"},
                                                           {"native_layer_norm", "layer_norm"},
                                                           {"native_group_norm", "group_norm"},
                                                           {"_softmax", "softmax"},
                                                           {"_log_softmax", "softmax"}};
  std::string base = op;
  for (const char* end : {"_backward_data", "_backward"}) {
    if (ends_with(base, end)) base.erase(base.size() - std::string(end).size());
  }
  const auto found = names.find(base);
  return found == names.end() ? "" : found->second;
}

double largest_of(const AtenCall& call) {
  double most = 1;
  for (const CallTensor* t : call.reads) most = std::max(most, t->elements());
  for (const CallTensor* t : call.makes) most = std::max(most, t->elements());
  return most;
}

double made_by(const AtenCall& call) {
  double sum = 0;
  for (const CallTensor* t : call.makes) sum += t->elements();
  return std::max(1.0, sum);
}

// Every tensor once; what is kept of random numbers, in bytes, is nearly nothing.
double bytes_of(const AtenCall& call) {
  std::set<const CallTensor*> all(call.reads.begin(), call.reads.end());
  all.insert(call.makes.begin(), call.makes.end());
  double sum = 0;
  for (const CallTensor* t : all) sum += t->bytes();
  return sum;
}

int element_bytes_of(const AtenCall& call) {
  if (call.autocast) return 2;
  for (const auto* list : {&call.reads, &call.makes}) {
    for (const CallTensor* t : *list) {
      if (t->floating && t->element_bytes <= 4) return t->element_bytes;
    }
  }
  return 4;
}

Arithmetic arithmetic_of(int element_bytes, bool may_be_tf32) {
  if (element_bytes == 2) return Arithmetic::kHalf;
  return may_be_tf32 ? Arithmetic::kTensorFloat32 : Arithmetic::kFloat32;
}

class Reader {
 public:
  Reader(const CapturedCalls& calls, TensorFloat tensor_float, bool accelerator)
      : calls_(calls), tensor_float_(tensor_float), accelerator_(accelerator) {}

  std::vector<CountedWork> read() {
    for (const AtenCall& call : calls_.calls()) read(call);
    return gathered(std::move(works_));
  }

 private:
  void read(const AtenCall& call) {
    if (views().count(call.op)) return;
    const std::string& op = call.op;
    if (op == "lstm" || op == "gru" || op == "rnn_tanh" || op == "rnn_relu") return recurrent(call);
    if (op == "scaled_dot_product_attention") return attention(call);
    if (op == "mm" || op == "addmm" || op == "bmm" || op == "baddbmm" || op == "mv" || op == "addmv")
      return product(call);
    if (op == "convolution" || op == "cudnn_convolution" || op == "_conv_depthwise2d")
      return convolution(call);
    if (op == "convolution_backward") return convolution_gradient(call);
    if (op.rfind("_foreach", 0) == 0 || op.rfind("_amp_foreach", 0) == 0 || op.rfind("_fused_adam", 0) == 0 ||
        op.rfind("_fused_sgd", 0) == 0)
      return update(call);
    if (const std::string name = norm_name(op); !name.empty()) return norm(call, name);
    other(call);
  }

  OpWork begun(const AtenCall& call, OpFamily family, std::string name) const {
    OpWork work;
    work.family = family;
    work.name = std::move(name);
    work.element_bytes = element_bytes_of(call);
    work.arithmetic = arithmetic_of(work.element_bytes, false);
    work.bytes = bytes_of(call);
    return work;
  }

  void add(OpWork work) { works_.push_back({std::move(work), 1}); }

  // rows, columns: the product's; layout tells which of the two is read across its rows.
  void product(const AtenCall& call) {
    const bool batched = call.op == "bmm" || call.op == "baddbmm";
    const std::size_t first = call.op == "mm" || call.op == "bmm" || call.op == "mv" ? 0 : 1;
    const CallTensor *a = call.argument(first), *b = call.argument(first + 1);
    if (!a || !b) return other(call);
    OpWork work = begun(call, OpFamily::kProduct, batched ? "batched" : "single");
    work.element_bytes = a->element_bytes;
    work.arithmetic = arithmetic_of(work.element_bytes, tensor_float_ == TensorFloat::kEverywhere);
    work.groups = batched ? a->size(0) : 1;
    work.rows = a->size(-2);
    work.depth = a->size(-1);
    work.columns = b->sizes.size() > 1 ? b->size(-1) : 1;
    work.flops = 2 * work.groups * work.rows * work.columns * work.depth;
    const auto across = [](const CallTensor& t) {
      return !t.strides.empty() && t.strides.back() != 1 && t.sizes.back() > 1;
    };
    work.layout = (across(*a) ? 1 : 0) + (across(*b) ? 0.5 : 0);
    work.backward = !call.forward;
    add(std::move(work));
  }

  // rows: places of the output; columns: its channels; depth: channels that each reads. A transposed
  // convolution is the gradient of another, whose output is what this one reads.
  OpWork convolved(const AtenCall& call, const CallTensor& input, const CallTensor& weight,
                   const CallTensor& output, std::size_t transposed_at, bool gradient) const {
    const bool transposed = call.flag(transposed_at);
    const CallTensor &x = transposed ? output : input, &y = transposed ? input : output;
    const double groups = std::max(1.0, call.number(transposed_at + 2));
    const double out = weight.size(0), in = std::max(1.0, weight.size(1));
    const bool depthwise = groups > 1 && in <= 2;
    const OpFamily plain = gradient ? OpFamily::kConvolutionGradient : OpFamily::kConvolution;
    const OpFamily single = gradient ? OpFamily::kDepthwiseGradient : OpFamily::kDepthwise;
    OpWork work = begun(call, depthwise ? single : plain, transposed ? "transposed" : "convolution");
    work.element_bytes = x.element_bytes;
    work.arithmetic = arithmetic_of(work.element_bytes, tensor_float_ != TensorFloat::kNowhere);
    work.kernel_area = weight.elements_from(2);
    work.rows = x.size(0) * y.elements_from(2);
    work.columns = depthwise ? out : std::floor(out / groups);
    work.depth = depthwise ? 1 : in;
    work.groups = groups;
    work.flops = 2 * work.rows * out * in * work.kernel_area;
    work.bytes = (x.elements() + weight.elements() + y.elements()) * work.element_bytes;
    work.layout = x.channels_last() ? 1 : 0;
    return work;
  }

  static double most_of(const std::vector<double>& numbers) {
    double most = 1;
    for (const double n : numbers) most = std::max(most, n);
    return most;
  }

  void convolution(const AtenCall& call) {
    const CallTensor *x = call.argument(0), *weight = call.argument(1);
    if (!x || !weight || call.makes.empty()) return other(call);
    const CallTensor& y = *call.makes.front();
    OpWork work = convolved(call, *x, *weight, y, 6, false);
    work.strided = most_of(call.numbers(3)) > 1;
    work.dilation = most_of(call.numbers(5));
    add(std::move(work));
    if (!call.argument(2)) return;
    OpWork bias = begun(call, OpFamily::kPointwise, "plain");
    bias.flops = bias.rows = y.elements();
    bias.bytes = 2 * y.bytes();
    add(std::move(bias));
  }

  void convolution_gradient(const AtenCall& call) {
    const CallTensor *y = call.argument(0), *x = call.argument(1), *weight = call.argument(2);
    const std::vector<double> wanted = call.numbers(call.args->empty() ? 0 : call.args->size() - 1);
    if (!x || !weight || !y || wanted.size() != 3) return other(call);
    for (const double flag : wanted) {
      if (flag != 0 && flag != 1) return other(call);
    }
    const double passes = wanted[0] + wanted[1];
    if (passes > 0) {
      OpWork work = convolved(call, *x, *weight, *y, 7, true);
      if (passes < 2) work.name += wanted[1] > 0 ? " weight" : " input";
      work.flops *= passes;
      work.bytes *= passes;
      work.launches = passes;
      work.strided = most_of(call.numbers(4)) > 1;
      work.dilation = most_of(call.numbers(6));
      add(std::move(work));
    }
    if (wanted[2] > 0) {
      OpWork bias = begun(call, OpFamily::kReduction, "reduction");
      bias.arithmetic = Arithmetic::kFloat32;
      bias.flops = y->elements();
      bias.bytes = y->bytes();
      bias.rows = y->size(1);
      bias.columns = y->elements() / std::max(1.0, y->size(1));
      bias.backward = true;
      add(std::move(bias));
    }
  }

  // rows and columns: queries and keys; depth: the width of a head; groups: heads of all samples.
  void attention(const AtenCall& call) {
    const AtenCall& forward = call.gradient_of ? *call.gradient_of : call;
    const CallTensor *q = forward.argument(0), *k = forward.argument(1);
    if (!q || !k || q->sizes.size() < 2 || k->sizes.size() < 2) return other(call);
    const bool gradient = call.gradient_of != nullptr;
    const bool masked = forward.argument(3) != nullptr;
    OpWork work = begun(forward, gradient ? OpFamily::kAttentionGradient : OpFamily::kAttention,
                        masked ? "masked" : "attention");
    const double passes = gradient ? 2.5 : 1;
    work.rows = q->size(-2);
    work.columns = k->size(-2);
    work.depth = q->size(-1);
    work.groups = q->elements() / std::max(1.0, work.rows * work.depth);
    const double scores = work.groups * work.rows * work.columns;
    work.flops = 4 * scores * work.depth * passes * (forward.flag_anywhere() ? 0.5 : 1);
    work.bytes = (2 * work.groups * (work.rows + work.columns) * work.depth + (masked ? scores : 0)) *
                 work.element_bytes * passes;
    work.launches = passes;
    if (accelerator_ && is_spelled_out(*q, *k, work.element_bytes)) {
      work.name = "spelled out";
      work.bytes += kTimesThroughScores * scores * work.element_bytes * (gradient ? 1.5 : 1);
      work.launches = 8;
    }
    add(std::move(work));
  }

  // In float32 no fused kernel of CUDA lets several heads of queries share one of keys: PyTorch (2.5 to 2.15)
  // then multiplies, scales, masks and normalises one after the other.
  static constexpr double kTimesThroughScores = 6;
  static bool is_spelled_out(const CallTensor& q, const CallTensor& k, int element_bytes) {
    return element_bytes == 4 && q.sizes.size() == 4 && q.size(-3) != k.size(-3);
  }

  // rows: samples; columns: width of the state; depth: layers or directions that run beside each other;
  // groups: steps, one after the other.
  void recurrent(const AtenCall& call) {
    const AtenCall& forward = call.gradient_of ? *call.gradient_of : call;
    std::vector<const CallTensor*> weights;
    for (const CallTensor* t : forward.reads) {
      if (t->sizes.size() == 2) weights.push_back(t);
    }
    if (forward.reads.empty() || weights.empty() || forward.reads.front()->sizes.size() != 3)
      return other(call);
    const CallTensor& x = *forward.reads.front();
    std::vector<bool> flags;  // the last two: whether it goes both ways, and whether samples come first
    for (const Json& value : *forward.args) {
      if (value.is_boolean()) flags.push_back(value.get<bool>());
    }
    const bool batch_first = !flags.empty() && flags.back();
    const bool both_ways = flags.size() > 1 && flags[flags.size() - 2];
    const bool gradient = call.gradient_of != nullptr;
    OpWork work = begun(forward, gradient ? OpFamily::kRecurrentGradient : OpFamily::kRecurrent, call.op);
    const double passes = gradient ? 2 : 1;
    const double samples = batch_first ? x.size(0) : x.size(1), length = batch_first ? x.size(1) : x.size(0);
    const double gates = call.op == "lstm" ? 4 : call.op == "gru" ? 3 : 1;
    const double layers = std::max(1.0, std::floor(static_cast<double>(weights.size()) / 2));
    double parameters = 0;
    for (const CallTensor* w : weights) parameters += w->elements();
    work.arithmetic = arithmetic_of(work.element_bytes, tensor_float_ != TensorFloat::kNowhere);
    work.rows = samples;
    work.columns = std::floor(weights.front()->size(0) / gates);
    // The next layer may begin when the one before it has made its first step, unless that goes both ways.
    work.depth = both_ways ? 2 : layers;
    work.groups = length * (both_ways ? std::max(1.0, std::floor(layers / 2)) : 1);
    work.flops = 2 * samples * length * parameters * passes;
    work.bytes = (x.elements() + samples * length * work.columns * layers * 6 + parameters * length / 8) *
                 work.element_bytes * passes;
    work.launches = std::max(1.0, work.groups);
    add(std::move(work));
  }

  // rows: what is normalised by itself; columns: over how much.
  void norm(const AtenCall& call, const std::string& name) {
    const CallTensor* x = nullptr;
    for (const CallTensor* t : call.arguments) {
      if (!x && t) x = t;
    }
    if (!x) return other(call);
    const bool gradient = call.op.find("backward") != std::string::npos;
    OpWork work = begun(call, gradient ? OpFamily::kNormGradient : OpFamily::kNorm, name);
    const double all = x->elements();
    if (name == "batch_norm") {
      work.rows = x->size(1);
    } else if (name == "group_norm") {
      work.rows = x->size(0) * 32;
    } else if (name == "layer_norm" || name == "rms_norm") {
      double width = x->size(-1);
      for (const CallTensor* t : call.arguments) {
        if (t && t->sizes.size() == 1) {
          width = t->size(0);
          break;
        }
      }
      work.rows = all / std::max(1.0, width);
    } else {
      const bool of_images = x->sizes.size() == 4 && call.op.rfind("_log_softmax", 0) == 0;
      work.rows = all / std::max(1.0, of_images ? x->size(1) : x->size(-1));
    }
    work.columns = all / std::max(1.0, work.rows);
    work.flops = 8 * all;
    work.launches = name == "softmax" ? 1 : 2;
    work.layout = layout_of(call);
    add(std::move(work));
  }

  // groups: how many tensors.
  void update(const AtenCall& call) {
    OpWork work = begun(call, OpFamily::kUpdate, "update");
    double elements = 0;
    for (const CallTensor* t : call.reads) elements += t->elements();
    work.flops = work.rows = elements;
    work.groups = static_cast<double>(call.reads.size());
    work.launches = 1 + work.groups / 100;
    add(std::move(work));
  }

  static double layout_of(const AtenCall& call) {
    for (const auto* list : {&call.reads, &call.makes}) {
      for (const CallTensor* t : *list) {
        if (t->channels_last()) return 1;
      }
    }
    return 0;
  }

  // Calls that move their tensors and compute little. rows: results; columns: how much is read for each.
  void other(const AtenCall& call) {
    const double largest = largest_of(call), made = made_by(call);
    const std::string& op = call.op;
    OpWork work;
    if (reductions().count(op) || pools().count(op)) {
      work = reductions().count(op) ? begun(call, OpFamily::kReduction, "reduction")
                                    : begun(call, OpFamily::kPooling, op);
      work.flops = largest;
      work.rows = made;
      work.columns = largest / made;
      work.layout = layout_of(call);
    } else if (gathers().count(op)) {
      work = begun(call, OpFamily::kGather, op);
      work.flops = work.rows = made;
      work.columns = call.makes.empty() ? 1 : call.makes.front()->size(-1);
      work.depth = largest;
      if (op == "embedding" || op == "index" || op == "gather") work.bytes = 2 * made * work.element_bytes;
      if (op == "embedding_dense_backward") {  // sorts the numbers first, then adds up what each has
        const CallTensor* gradients = call.argument(0);
        work.rows = gradients ? gradients->elements() : made;
        work.depth = made;
        work.launches = 8;
      } else if (op == "nll_loss_forward" || op == "nll_loss2d_forward") {  // reads one of each row
        const CallTensor* targets = call.argument(1);
        work.rows = work.flops = targets ? targets->elements() : 1;
        work.bytes = 3 * work.rows * work.element_bytes;
      }
    } else {
      const bool copy = copies().count(op) > 0;
      const OpFamily family = copy               ? OpFamily::kCopy
                              : is_pointwise(op) ? OpFamily::kPointwise
                                                 : OpFamily::kOther;
      work = begun(call, family, copy ? copy_name(op) : family == OpFamily::kOther ? op : pointwise_name(op));
      work.flops = copy ? 0 : largest;
      work.rows = largest;
      work.layout = copy ? (mixed(call, largest) || gaps(call, largest) ? 1 : 0)
                         : (mixed(call, largest) ? 1 : 0) + (broadcasts(call, largest) ? 0.5 : 0);
    }
    work.backward = !call.forward;
    add(std::move(work));
  }

  // Whether large tensors of the call lie in memory one this way and one that way.
  static bool mixed(const AtenCall& call, double largest) {
    const CallTensor* first = nullptr;
    for (const auto* list : {&call.reads, &call.makes}) {
      for (const CallTensor* t : *list) {
        if (t->elements() != largest || largest <= 1) continue;
        if (first && first->strides != t->strides) return true;
        first = t;
      }
    }
    return false;
  }

  static bool gaps(const AtenCall& call, double largest) {
    for (const auto* list : {&call.reads, &call.makes}) {
      for (const CallTensor* t : *list) {
        if (2 * t->elements() > largest && !t->dense()) return true;
      }
    }
    return false;
  }

  static bool broadcasts(const AtenCall& call, double largest) {
    return std::any_of(call.reads.begin(), call.reads.end(),
                       [&](const CallTensor* t) { return t->elements() < largest && t->elements() > 1; });
  }

  const CapturedCalls& calls_;
  TensorFloat tensor_float_;
  bool accelerator_;
  std::vector<CountedWork> works_;
};

}  // namespace

std::vector<CountedWork> work_of_calls(const std::string& text, TensorFloat tensor_float, bool accelerator) {
  return work_of_body(parse_json(text, "captured calls"), tensor_float, accelerator);
}

std::vector<CountedWork> work_of_body(Json body, TensorFloat tensor_float, bool accelerator) {
  const CapturedCalls calls(std::move(body));
  std::vector<CountedWork> works = Reader(calls, tensor_float, accelerator).read();
  for (const CountedWork& w : works) {
    for (const double value : {w.work.flops, w.work.bytes, w.work.launches, w.work.rows, w.work.columns,
                               w.work.depth, w.work.groups, w.work.kernel_area, w.work.dilation}) {
      if (!(value >= 0 && value < kMostOfAnything))
        throw bad_input("captured calls: a call is too large to be true");
    }
  }
  return works;
}

std::vector<CountedWork> gathered(std::vector<CountedWork> works) {
  std::map<OpWork, double> counts;
  for (CountedWork& w : works) counts[std::move(w.work)] += w.count;
  std::vector<CountedWork> out;
  out.reserve(counts.size());
  for (const auto& [work, count] : counts) out.push_back({work, count});
  return out;
}

}  // namespace ampere
