#include "session/evaluation.h"

#include <chrono>

#include "base/error.h"
#include "base/files.h"
#include "evaluate/sample.h"
#include "import/script/torchscript.h"
#include "measure/recipe.h"

namespace ampere {

LoadedModel model_to_evaluate(const EvaluationOptions& o) {
  // A TorchScript file is of no zoo family, so no worker has to run it.
  LoadedModel model;
  if (!is_torchscript_path(o.model)) model = load_model(ModelSource{o.model, 1, {}, {}}, WorkerOptions{});
  if (!model.zoo) {
    throw bad_input(o.model + ": random networks are sampled from zoo families only; see: ampere models");
  }
  for (const std::string& name : o.methods) {
    require_mode(method_behind(name), o.mode);
  }
  return model;
}

EvaluationResult run_evaluation(const Session& session, const LoadedModel& model, const EvaluationOptions& o,
                                const OnStep& on_step) {
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.setup.recipe, session.fingerprint));
  EvaluationResult result;
  result.profiles = profile_model(session, profile, model, o.setup, o.profiling, o.methods, on_step);
  std::vector<Network> networks;
  for (const ZooChoice& c : sample_networks(*model.zoo, o.samples, o.sample_seed))
    networks.push_back(build(c));
  EvaluateOptions options;
  options.how = measuring_whole(session, o.setup, o.profiling, o.mode);
  options.probing = probing(session, o.setup, o.profiling);
  options.methods = o.methods;
  options.mode = o.mode;
  options.passes = o.passes;
  options.seconds = o.training_s;
  const auto start = std::chrono::steady_clock::now();
  options.progress = [&](int done, int of) {
    if (!on_step) return;
    const double pace =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / done;
    on_step({"training", done, of, pace * (of - done),
             networks[static_cast<std::size_t>((done - 1) % static_cast<int>(networks.size()))].name()});
  };
  result.evaluation = evaluate(profile, networks, o.setup.batch, session.measure(), options);
  result.modelled = is_modelled(profile, model, o.setup, o.methods);
  Json& out = result.json;
  out = json_header(session.fingerprint, result.modelled);
  out["model"] = o.model;
  out["batch"] = o.setup.batch;
  out["recipe"] = o.setup.recipe.word();
  out["mode"] = o.mode == MeasureMode::kReplay ? "replay" : "eager";
  out["samples"] = networks.size();
  out["sample_seed"] = o.sample_seed;
  out["date"] = utc_now();
  for (const MethodProfile& p : result.profiles) {
    out["profiling"][p.method] = {{"time_s", p.all_seconds},
                                  {"fitting_time_s", p.all_fitting_seconds},
                                  {"points_measured", p.all_points},
                                  {"points_reused", p.summary.measured > 0 ? p.summary.reused : 0}};
  }
  out.update(to_json(result.evaluation));
  return result;
}

void write_evaluation(const std::string& prefix, const EvaluationResult& result) {
  write_file(prefix + ".json", result.json.dump(1) + "\n");
  write_file(prefix + ".csv", to_csv(result.evaluation));
}

}  // namespace ampere
