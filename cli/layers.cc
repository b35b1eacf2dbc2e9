// ampere layers: how a network falls into layers.
#include <fmt/core.h>

#include <memory>

#include "common.h"
#include "layers/parse.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

void run_layers(const CommonOptions& options, const ModelOptions& m) {
  const LoadedModel model = load_model(m, options);
  const std::vector<Layer> layers = parse_layers(model.network, m.batch);
  const std::vector<LayerGroup> groups = group_layers(layers);
  const Cost total = network_cost(model.network, m.batch);
  Json rows = Json::array();
  Table table{{"role", "kind", "channels", "count", "FLOPs"}, {}, {false, false, false, true, true}, 1};
  for (const LayerGroup& g : groups) {
    std::string channels;
    Json places = Json::array();
    std::map<Channels, int> seen;
    for (const Layer& layer : layers) {
      if (layer.key() == g.layer.key()) seen[layer.channels] += 1;
    }
    for (const auto& [c, n] : seen) {
      if (channels.size() < 40)
        channels += fmt::format("{}{}>{}", channels.empty() ? "" : " ", c.in, c.out);
      else if (channels.back() != '.')
        channels += " ..";
      places.push_back({{"in", c.in}, {"out", c.out}, {"count", n}});
    }
    const double share = total.flops() > 0 ? g.flops / total.flops() : 0;
    table.rows.push_back(
        {to_word(g.layer.role), g.layer.kind.word(), channels, std::to_string(g.count), percent_text(share)});
    rows.push_back({{"role", to_word(g.layer.role)},
                    {"kind", g.layer.kind.word()},
                    {"channels", places},
                    {"count", g.count},
                    {"flops", g.flops},
                    {"flops_share", share}});
  }
  if (options.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"model", model.network.name()},
                {"batch", m.batch},
                {"layers", layers.size()},
                {"kinds", rows},
                {"notes", model.notes},
                {"parameters", total.parameters},
                {"forward_flops", total.forward_flops},
                {"backward_flops", total.backward_flops},
                {"update_flops", total.update_flops},
                {"forward_bytes", total.forward_bytes},
                {"backward_bytes", total.backward_bytes},
                {"update_bytes", total.update_bytes},
                {"activation_bytes", total.activation_bytes}});
    return;
  }
  print(table);
  print("\n{}: {} layers of {} kinds, {} weights, {}FLOP per iteration of batch {}\n", model.network.name(),
        layers.size(), groups.size(), count_text(total.parameters), count_text(total.flops()), m.batch);
}

}  // namespace

void add_layers(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto model = std::make_shared<ModelOptions>();
  CLI::App* verb =
      app.add_subcommand("layers", "How a network falls into layers: roles, kinds, channels, FLOPs");
  add_model_options(*verb, *model);
  add_worker_option(*verb, *options);
  add_output_options(*verb, *options);
  verb->callback([options, model] { run_layers(*options, *model); });
}

}  // namespace ampere
