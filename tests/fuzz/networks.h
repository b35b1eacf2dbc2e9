// What every network that was accepted must stand, for the fuzzers.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "harness.h"
#include "import/import.h"
#include "layers/parse.h"
#include "network/cost.h"
#include "network/network_json.h"
#include "variants/variant.h"

namespace ampere::fuzz {

// It can be read again, gives the same text, and can be taken apart at any batch, with costs that are
// figures.
inline void use_network(const Network& network) {
  const Json json = network_to_json(network);
  const Network again = network_from_json(json, "again");
  if (network_to_json(again) != json) throw Wrong{"written and read again it is another network"};
  for (const Layer& layer : parse_layers(again, 3)) {
    if (layer.kind.word().empty()) throw Wrong{"a layer without a kind"};
    if (!std::isfinite(layer.cost.flops())) throw Wrong{"a layer's cost is no figure"};
    takes([&] { layer_alone(layer.kind, layer.role, layer.channels); });
  }
  if (!std::isfinite(network_cost(again, 3).flops())) throw Wrong{"the cost is no figure"};
}

// Imports as is and as the command line may ask for; true when one of them is accepted.
inline bool use_imported(const std::function<Imported(const ImportOptions&)>& import) {
  bool any = false;
  for (const bool all : {false, true}) {
    ImportOptions options;
    options.restore_batchnorm = options.ignore_unsupported = all;
    any = takes([&] { use_network(import(options).network); }) || any;
  }
  return any;
}

}  // namespace ampere::fuzz
