#include "variants/variant.h"

namespace ampere {

Variant layer_alone(const LayerKind& kind, LayerRole role, Channels channels) {
  return {build_layer(kind, channels), computes_loss(role), hands_gradient_down(role)};
}

Variant empty_iteration() {
  Network network("empty");
  network.add(Op::kInput, {}, {{"shape", std::vector<std::int64_t>{1}}});
  return {std::move(network), false, false};
}

}  // namespace ampere
