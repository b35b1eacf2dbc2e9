#include "measure/request.h"

#include "base/error.h"
#include "network/network_json.h"

namespace ampere {

const char* to_word(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
    default:
      return "iteration";
  }
}

Phase phase_from_word(const std::string& word) {
  for (const Phase phase : {Phase::kIteration, Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    if (word == to_word(phase)) return phase;
  }
  throw bad_input("an iteration has no phase \"" + word + "\" (known: iteration, forward, backward, update)");
}

Json to_json(const MeasureRequest& m) {
  Json json = {{"network", network_to_json(m.network)},
               {"batch", m.batch},
               {"mode", m.mode == MeasureMode::kReplay ? "replay" : "eager"},
               {"loss", m.loss},
               {"input_grad", m.input_grad},
               {"recipe", to_json(m.recipe)},
               {"meter", m.meter},
               {"target_error", m.target_error},
               {"window_s", m.window_s},
               {"warm_up_s", m.warm_up_s},
               {"budget_s", m.budget_s},
               {"min_windows", m.min_windows}};
  // Said only when they differ from what every worker does anyway.
  if (m.phase != Phase::kIteration) json["phase"] = to_word(m.phase);
  if (!m.energy) json["energy"] = false;
  if (!m.discard_first) json["discard_first"] = false;
  if (m.min_ticks != kTicksPerWindow) json["min_ticks"] = m.min_ticks;
  return json;
}

MeasureRequest measure_request_from_json(const Json& json) {
  JsonReader r(json, "measure");
  r.only({"network", "batch", "mode", "loss", "input_grad", "recipe", "meter", "target_error", "window_s",
          "warm_up_s", "budget_s", "min_windows", "min_ticks", "phase", "energy", "discard_first"});
  MeasureRequest m;
  m.network = network_from_json(r.object("network"), "network");
  m.batch = r.integer("batch");
  const std::string mode = r.text("mode", "eager");
  r.require_one_of("mode", mode, {"eager", "replay"});
  m.mode = mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  const std::string phase = r.text("phase", "iteration");
  r.require_one_of("phase", phase, {"iteration", "forward", "backward", "update"});
  m.phase = phase_from_word(phase);
  m.energy = r.boolean("energy", m.energy);
  m.discard_first = r.boolean("discard_first", m.discard_first);
  m.loss = r.boolean("loss", m.loss);
  m.input_grad = r.boolean("input_grad", m.input_grad);
  if (r.has("recipe")) m.recipe = recipe_from_json(r.object("recipe"));
  m.meter = r.text("meter", "");
  m.target_error = r.number_between("target_error", m.target_error, 1e-6, 1);
  m.window_s = r.number_between("window_s", m.window_s, 1e-3, 600);
  m.warm_up_s = r.number_between("warm_up_s", m.warm_up_s, 0, 600);
  m.budget_s = r.number_between("budget_s", m.budget_s, 1e-3, 3600);
  m.min_windows = static_cast<int>(r.integer_between("min_windows", m.min_windows, 1, 1000));
  m.min_ticks = static_cast<int>(r.integer_between("min_ticks", m.min_ticks, 1, 1000));
  return m;
}

}  // namespace ampere
