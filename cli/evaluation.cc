#include "evaluation.h"

#include <chrono>

#include "base/error.h"
#include "evaluate/sample.h"
#include "import/torchscript.h"
#include "progress.h"

namespace ampere {

Model model_to_evaluate(const EvaluationOptions& o) {
  // A TorchScript file is of no zoo family, so no worker has to run it.
  Model model;
  if (!is_torchscript_path(o.model.model)) model = load_model(o.model, CommonOptions());
  if (!model.zoo) {
    throw bad_input(o.model.model +
                    ": random networks are sampled from zoo families only; see: ampere models");
  }
  for (const std::string& name : o.methods) {
    require_mode(method_behind(name), o.mode);
  }
  return model;
}

EvaluationResult run_evaluation(const Session& session, const Model& model, const EvaluationOptions& o,
                                bool quiet) {
  DeviceProfile profile(*session.store, session.device_id, o.model.recipe.word());
  EvaluationResult result;
  result.profiles = profile_model(session, profile, model, o.model, o.profiling, o.methods, quiet);
  std::vector<Network> networks;
  for (const ZooChoice& c : sample_networks(*model.zoo, o.samples, o.sample_seed))
    networks.push_back(build(c));
  EvaluateOptions options;
  options.measuring = measuring_whole(session, o.model, o.profiling, o.mode);
  options.probing.measuring = measuring(session, o.model, o.profiling);
  options.methods = o.methods;
  options.mode = o.mode;
  options.passes = o.passes;
  options.seconds = o.training_s;
  const auto start = std::chrono::steady_clock::now();
  {
    Progress bar("training", quiet);
    options.progress = [&](int done, int of) {
      const double pace =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / done;
      bar.show(done, of, pace * (of - done),
               networks[static_cast<std::size_t>((done - 1) % static_cast<int>(networks.size()))].name());
    };
    result.evaluation = evaluate(profile, networks, o.model.batch, session.measure(), options);
  }
  result.modelled = profile.modelled();
  Json& out = result.json;
  out = json_header(session.fingerprint, result.modelled);
  out["model"] = o.model.model;
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
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
