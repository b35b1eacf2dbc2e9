#include "answers/layers_answer.h"

#include <map>
#include <vector>

#include "layers/parse.h"
#include "network/shape.h"
#include "session/session.h"

namespace ampere {
namespace {

Json kinds_json(const std::vector<Layer>& layers, double flops) {
  Json kinds = Json::array();
  for (const LayerGroup& g : group_layers(layers)) {
    std::map<Channels, int> seen;
    for (const Layer& layer : layers) {
      if (layer.key() == g.layer.key()) seen[layer.channels] += 1;
    }
    Json places = Json::array();
    for (const auto& [c, n] : seen) places.push_back({{"in", c.in}, {"out", c.out}, {"count", n}});
    kinds.push_back({{"role", to_word(g.layer.role)},
                     {"kind", g.layer.kind.word()},
                     {"channels", places},
                     {"count", g.count},
                     {"flops", g.flops},
                     {"flops_share", flops > 0 ? g.flops / flops : 0}});
  }
  return kinds;
}

// Ops in an order where inputs come first; edges by index. An op of no layer (an input) has null for it.
Json graph_json(const Network& network, const std::vector<Layer>& layers, std::int64_t batch) {
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  std::vector<Json> layer_of(network.nodes().size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const int node : layers[l].nodes) layer_of[static_cast<std::size_t>(node)] = l;
  }
  Json nodes = Json::array();
  for (std::size_t n = 0; n < network.nodes().size(); ++n) {
    const Node& node = network.nodes()[n];
    nodes.push_back({{"name", node.name},
                     {"op", name_of(node.op)},
                     {"inputs", node.inputs},
                     {"shape", shapes[n].dims},
                     {"layer", layer_of[n]}});
  }
  Json names = Json::array();
  for (const Layer& layer : layers) names.push_back(layer.name);
  return {{"nodes", nodes}, {"layers", names}, {"outputs", network.outputs()}};
}

}  // namespace

Json layers_json(const LoadedModel& model, std::int64_t batch) {
  const std::vector<Layer> layers = parse_layers(model.network, batch);
  const Cost total = network_cost(model.network, batch);
  return {{"schema_version", kOutputSchemaVersion},
          {"model", model.network.name()},
          {"batch", batch},
          {"layers", layers.size()},
          {"kinds", kinds_json(layers, total.flops())},
          {"graph", graph_json(model.network, layers, batch)},
          {"notes", model.notes},
          {"parameters", total.parameters},
          {"forward_flops", total.forward_flops},
          {"backward_flops", total.backward_flops},
          {"update_flops", total.update_flops},
          {"forward_bytes", total.forward_bytes},
          {"backward_bytes", total.backward_bytes},
          {"update_bytes", total.update_bytes},
          {"activation_bytes", total.activation_bytes}};
}

}  // namespace ampere
