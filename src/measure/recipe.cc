#include "measure/recipe.h"

namespace ampere {

std::string Recipe::word() const {
  return optimizer + "-" + precision + (autotune ? "-autotune" : "") +
         (deterministic ? "-deterministic" : "") + "-t" + std::to_string(threads);
}

std::string stored_word(const Recipe& recipe, const Json& fingerprint) {
  Recipe kept = recipe;
  const bool cpu = fingerprint.is_object() && fingerprint.value("type", "") == "cpu";
  if (cpu && recipe.precision == "default") kept.precision = "fp32";
  return kept.word();
}

Json to_json(const Recipe& recipe) {
  return {{"optimizer", recipe.optimizer}, {"precision", recipe.precision},
          {"autotune", recipe.autotune},   {"deterministic", recipe.deterministic},
          {"threads", recipe.threads},     {"seed", recipe.seed}};
}

Recipe recipe_from_json(const Json& json) {
  JsonReader r(json, "recipe");
  r.only({"optimizer", "precision", "autotune", "deterministic", "threads", "seed"});
  Recipe recipe;
  recipe.optimizer = r.text("optimizer", recipe.optimizer);
  recipe.precision = r.text("precision", recipe.precision);
  r.require_one_of("optimizer", recipe.optimizer, kOptimizers);
  r.require_one_of("precision", recipe.precision, kPrecisions);
  recipe.autotune = r.boolean("autotune", recipe.autotune);
  recipe.deterministic = r.boolean("deterministic", recipe.deterministic);
  recipe.threads = static_cast<int>(r.integer_between("threads", recipe.threads, 1, 4096));
  recipe.seed = r.integer("seed", recipe.seed);
  return recipe;
}

}  // namespace ampere
