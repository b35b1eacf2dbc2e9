#include "worker/session.h"

#include "network/network_json.h"
#include "worker/measure.h"

namespace ampere::worker {

Session::Session(const SessionOptions& options) : Session(open_device(options.device), options) {}

Session::Session(std::unique_ptr<TorchDevice> device, const SessionOptions& options)
    : BasicSession(std::move(device), {"ampere-worker", options.meter, options.threads}),
      torch_(static_cast<TorchDevice&>(BasicSession::device())),
      trace_(options.trace) {}

Json Session::dispatch(const Request& request) {
  if (request.verb == "trace") return trace(request.params, trace_);
  if (request.verb == "memory") return memory(request.params);
  if (request.verb == "train" && request.params.contains("run")) return train_run(request.params);
  return BasicSession::dispatch(request);
}

Json Session::memory(Json params) {
  fill_threads(params);
  const JsonReader r(params, "memory");
  r.only({"network", "batch", "recipe"});
  const Network network = network_from_json(r.object("network"), "network");
  const std::int64_t bytes =
      measure_memory(network, r.integer("batch"), recipe_from_json(r.object("recipe")), torch_);
  return {{"peak_bytes", bytes}};
}

// On real data, a stretch at a time: the first request brings network and data, later ones go on with them.
Json Session::train_run(const Json& params) {
  const JsonReader r(params, "train");
  const std::string name = r.text("run");
  if (r.has("end")) {
    r.only({"run", "end"});
    if (runs_.erase(name) == 0) throw bad_input("train: no run is called \"" + name + "\"");
    if (runs_.empty()) data_.clear();
    return Json::object();
  }
  const bool begins = r.has("network");
  if (begins) {
    r.only({"run", "network", "data", "batch", "recipe", "iterations", "learning_rate", "evaluate", "meter"});
  } else {
    r.only({"run", "iterations", "learning_rate", "evaluate", "meter"});
  }
  const std::int64_t iterations = r.integer("iterations", 0);
  const double rate = r.number("learning_rate", 0.01);
  if (iterations < 0 || iterations > kMaxIterations)
    throw bad_input("train: \"iterations\" must be between 0 and " + std::to_string(kMaxIterations));
  if (!(rate >= 0 && rate <= 1e6)) throw bad_input("train: \"learning_rate\" must be between 0 and 1e6");
  if (begins) {
    Json filled = params;
    fill_threads(filled);
    const Recipe recipe = recipe_from_json(filled.at("recipe"));
    std::shared_ptr<DeviceData>& data = data_[r.text("data")];
    if (!data) data = load_data(r.text("data"), torch_);
    runs_[name] = std::make_unique<TrainingRun>(network_from_json(r.object("network"), "network"),
                                                r.integer("batch"), recipe, data, torch_);
  } else if (runs_.find(name) == runs_.end()) {
    throw bad_input("train: no run is called \"" + name +
                    "\"; its first request must bring network, data and batch");
  }
  TrainingRun& run = *runs_.at(name);
  MeterInUse& source = meter(r.text("meter", ""));
  Json out = {{"meter", source.meter->info().name}, {"modelled", source.meter->info().modelled}};
  out["energy_j"] = out["time_s"] = out["loss_last"] = out["test_loss"] = out["test_accuracy"] = nullptr;
  if (iterations > 0) {
    if (!source.meter->info().modelled && !source.idle_known) measure_idle(1, torch_, source);
    const Stretch stretch = run.train(iterations, rate, source);
    if (stretch.energy_j > 0) out["energy_j"] = stretch.energy_j;
    out["time_s"] = stretch.time_s;
    out["loss_last"] = number_or_null(stretch.loss);
  }
  if (r.boolean("evaluate", false)) {
    const TestResult test = run.test();
    out["test_loss"] = number_or_null(test.loss);
    out["test_accuracy"] = number_or_null(test.accuracy);
  }
  out["iterations"] = iterations;
  out["iterations_in_all"] = run.iterations();
  return out;
}

}  // namespace ampere::worker
