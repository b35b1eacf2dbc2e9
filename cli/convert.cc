// ampere convert: any network as a network file, which can be read, edited and kept.
#include <chrono>
#include <memory>

#include "base/error.h"
#include "base/plain_text.h"
#include "common.h"
#include "layers/parse.h"
#include "network/network_json.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct ConvertArguments {
  CommonOptions common;
  ModelOptions model;
  std::string output;
};

void run(const ConvertArguments& o) {
  if (o.common.json && o.output.empty())
    throw bad_input("--json tells about the conversion; say where the network goes with --output FILE");
  const auto start = std::chrono::steady_clock::now();
  const LoadedModel model = load_model(o.model, o.common);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<Layer> layers = parse_layers(model.network, o.model.batch);
  const std::string text = network_to_json(model.network).dump(1, ' ', false, Json::error_handler_t::replace);
  if (o.output.empty()) {
    print("{}\n", plain_json(text));
    return;
  }
  require_writable(o.output);
  write_file(o.output, text + "\n");
  const Cost cost = network_cost(model.network, o.model.batch);
  if (o.common.json) {
    Json unsupported = Json::array();
    for (const UnsupportedOp& u : model.unsupported)
      unsupported.push_back({{"op", u.op}, {"why", u.why}, {"nodes", u.nodes}});
    print_json({{"schema_version", kOutputSchemaVersion},
                {"model", model.network.name()},
                {"output", o.output},
                {"batch", o.model.batch},
                {"nodes", model.network.nodes().size()},
                {"layers", layers.size()},
                {"parameters", cost.parameters},
                {"forward_flops", cost.forward_flops},
                {"import_time_s", seconds},
                {"notes", model.notes},
                {"unsupported", unsupported},
                {"ignored_flops_share", model.ignored_flops_share}});
    return;
  }
  print("{}: {} ops, {} layers, {} weights, read in {}, written to {}\n", model.network.name(),
        model.network.nodes().size(), layers.size(), count_text(cost.parameters), seconds_text(seconds),
        o.output);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto o = std::make_shared<ConvertArguments>();
  CLI::App* verb =
      app.add_subcommand("convert", "Write any network, imported or of the zoo, as a network file");
  add_model_options(*verb, o->model);
  verb->add_option("-o,--output", o->output, "The .json file to write; standard output unless given");
  add_worker_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
