// A network as a graph of operations that the engine trains.
#pragma once

#include "network/network.h"
#include "onednn/graph.h"

namespace ampere::onednn {

struct NetworkGraph {
  std::vector<Value*> inputs;   // of the network's input nodes
  std::vector<Value*> outputs;  // what is trained against a target
};

// Adds the whole network, fills its inputs with synthetic data and finishes the graph. `input_grad`: the
// gradients of float inputs are wanted, too. Throws Error{kBadInput} naming the node that cannot be trained.
NetworkGraph build(Graph& graph, const Network& network, std::int64_t batch, bool input_grad);

}  // namespace ampere::onednn
