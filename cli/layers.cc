// ampere layers: how a network falls into layers.
#include <fmt/core.h>

#include <memory>
#include <set>

#include "answers/layers_answer.h"
#include "common.h"
#include "layers/parse.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

void run_layers(const CommonOptions& options, const ModelOptions& m) {
  const LoadedModel model = load_model(m, options);
  if (options.json) return print_json(layers_json(model, m.batch));
  const std::vector<Layer> layers = parse_layers(model.network, m.batch);
  const std::vector<LayerGroup> groups = group_layers(layers);
  const Cost total = network_cost(model.network, m.batch);
  Table table{{"role", "kind", "channels", "count", "FLOPs"}, {}, {false, false, false, true, true}, 1};
  for (const LayerGroup& g : groups) {
    std::string channels;
    std::set<Channels> seen;
    for (const Layer& layer : layers) {
      if (layer.key() == g.layer.key()) seen.insert(layer.channels);
    }
    for (const Channels& c : seen) {
      if (channels.size() < 40)
        channels += fmt::format("{}{}>{}", channels.empty() ? "" : " ", c.in, c.out);
      else if (channels.back() != '.')
        channels += " ..";
    }
    const double share = total.flops() > 0 ? g.flops / total.flops() : 0;
    table.rows.push_back(
        {to_word(g.layer.role), g.layer.kind.word(), channels, std::to_string(g.count), percent_text(share)});
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
