// The kind of a layer: all that decides its cost except its channels. Two layers of one kind lie on
// one surface over (in, out) channels, so one Gaussian process serves both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ampere/model.h"
#include "network/network.h"
#include "network/shape.h"

namespace ampere {

inline bool hands_gradient_down(LayerRole role) {
  return role == LayerRole::kHidden || role == LayerRole::kOutput;
}
inline bool computes_loss(LayerRole role) { return role == LayerRole::kOutput || role == LayerRole::kOnly; }

// Which of the two numbers may vary within a kind.
enum class Surface {
  kOut,    // input layers: what comes in is given by the data
  kIn,     // output layers: what goes out is given by the task
  kInOut,  // hidden layers
  kTied,   // one number by nature: depthwise convolutions, joins, attention
  kPoint,  // nothing: the layer's ops fix every size
};

// One data input of a layer with its channel number left open.
struct InputShape {
  std::vector<std::int64_t> dims;  // without the batch; the open one holds 0
  DType dtype = DType::kFloat;
  std::int64_t classes = 0;  // of int inputs
};

struct LayerKind {
  std::vector<Node> ops;           // the layer's ops in order, each reading the one before it
  std::size_t head = 0;            // the op whose width is Channels::out
  std::vector<InputShape> inputs;  // what the first op reads
  std::int64_t batch = 1;
  Surface surface = Surface::kInOut;
  Channels fixed;                      // the numbers that may not vary (kOut: in, kIn: out, kPoint: both)
  std::int64_t feedforward_ratio = 0;  // encoder layers whose feed-forward grows with the width

  // One readable word that tells kinds apart: "conv3x3p1nb-bn-relu@28x28b10".
  std::string word() const;
  // The same of its first op alone, "conv3x3p1nb@28x28b10". Kinds that share it differ in little: the first
  // op costs the most.
  std::string first_op_word() const;
};

// A part of a captured training step.
bool is_captured(const LayerKind& kind);

// The network that consists of one layer of this kind at these channels. Throws Error{kBadInput} when
// the kind does not allow them.
Network build_layer(const LayerKind& kind, Channels channels);

// Name of the attribute that holds an op's output width; null for ops that have none.
const char* width_attribute(Op op);

}  // namespace ampere
