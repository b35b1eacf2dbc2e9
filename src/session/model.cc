#include "ampere/model.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "layers/parse.h"
#include "network/network_json.h"
#include "network/shape.h"
#include "network/zoo.h"
#include "session/access.h"

namespace ampere {
namespace {

void check_batch(std::int64_t batch) {
  if (batch < 1 || batch > kMaxWidth)
    throw bad_input("the batch must be 1 to " + std::to_string(kMaxWidth) + ", found " +
                    std::to_string(batch));
}

}  // namespace

void check(const TrainingSetup& setup) {
  check_batch(setup.batch);
  recipe_from_json(to_json(setup.recipe));
}

Model ModelAccess::make(LoadedModel loaded, std::optional<std::int64_t> exported_batch) {
  return Model(std::make_shared<const Model::Impl>(Model::Impl{std::move(loaded), exported_batch}));
}

Model::Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Model Model::load(const std::string& model, const LoadOptions& options) {
  check_batch(options.batch);
  const ModelSource source{model, options.batch, options.inputs, options.import};
  const std::string worker = options.worker.empty() ? default_worker_command() : options.worker;
  LoadedModel loaded = load_model(source, worker_options(worker));
  return ModelAccess::make(std::move(loaded), is_onnx_path(model) ? onnx_batch(model) : std::nullopt);
}

Model Model::from_json(const std::string& json) {
  Network network = network_from_json(parse_json(json, "network"), "network");
  const std::optional<std::int64_t> captured = captured_batch(network);
  infer_shapes(network, captured.value_or(1));
  return ModelAccess::make({std::move(network), std::nullopt, {}, {}, 0}, captured);
}

Model Model::from_trace(const std::string& json, const ImportOptions& options) {
  return ModelAccess::make(load_trace(recorded_pass_from_json(parse_json(json, "trace")), options));
}

const std::string& Model::name() const { return impl_->loaded.network.name(); }
const std::vector<std::string>& Model::notes() const { return impl_->loaded.notes; }
std::optional<std::int64_t> Model::exported_batch() const { return impl_->exported_batch; }

double Model::parameters() const { return network_cost(impl_->loaded.network, 1).parameters; }

double Model::flops(std::int64_t batch) const {
  check_batch(batch);
  return network_cost(impl_->loaded.network, batch).flops();
}

std::vector<ModelLayer> Model::layers(std::int64_t batch) const {
  check_batch(batch);
  std::vector<ModelLayer> layers;
  for (const Layer& l : parse_layers(impl_->loaded.network, batch))
    layers.push_back({l.name, l.role, l.kind.word(), l.channels, l.cost.flops(), l.cost.parameters});
  return layers;
}

std::string Model::to_json() const { return network_to_json(impl_->loaded.network).dump(1); }

void Model::save(const std::string& path) const {
  require_writable(path);
  write_file(path, to_json() + "\n");
}

std::vector<KnownModel> known_models() {
  std::vector<KnownModel> models;
  for (const ZooEntry& e : zoo()) models.push_back({e.name, e.description});
  return models;
}

}  // namespace ampere
