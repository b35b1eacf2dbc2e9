// The small networks that are trained to isolate one layer.
#pragma once

#include "layers/layer_kind.h"
#include "network/network.h"

namespace ampere {

struct Variant {
  Network network;
  bool loss = true;         // the backward pass starts from a loss; else from a given output gradient
  bool input_grad = false;  // the input wants its gradient, as that of a hidden layer does
};

// `split`: the layer alone. A hidden layer reads a leaf that wants a gradient and starts its backward
// pass from a given one, so neither neighbours nor a loss have to be subtracted.
Variant layer_alone(const LayerKind& kind, LayerRole role, Channels channels);

// An iteration that trains nothing: what every probe pays besides its layer.
Variant empty_iteration();

}  // namespace ampere
