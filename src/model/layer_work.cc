#include "model/layer_work.h"

namespace ampere {

CallStyle call_style_of(const Json& fingerprint) {
  const auto word = [&](const char* key) {
    const auto found = fingerprint.is_object() ? fingerprint.find(key) : fingerprint.end();
    return found != fingerprint.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string framework = word("framework");
  CallStyle style;
  style.accelerator = word("type") == "cuda";
  style.updates_together = style.accelerator && framework.rfind("pytorch", 0) == 0;
  style.fused_attention = framework.rfind("libtorch 1.", 0) != 0;
  return style;
}

TensorFloat tensor_float_of(const std::string& recipe) {
  const auto says = [&](const char* word) { return recipe.find(word) != std::string::npos; };
  return says("-fp32-")   ? TensorFloat::kNowhere
         : says("-tf32-") ? TensorFloat::kEverywhere
                          : TensorFloat::kConvolutions;
}

bool shares_calls(const std::string& measured, const std::string& asked, bool accelerator) {
  const auto rest_of = [](const std::string& recipe) {
    const std::size_t end = recipe.find('-');
    return end == std::string::npos ? recipe : recipe.substr(end + 1);
  };
  const std::string seen = rest_of(measured), wanted = rest_of(asked), half = "bf16-";
  if (seen == wanted) return true;
  return measured.rfind("captured-", 0) == 0 && wanted.rfind(half, 0) == 0 &&
         seen == (accelerator ? "default-" : "fp32-") + wanted.substr(half.size());
}

std::vector<CountedWork> work_of_layer(const LayerKind& kind, Channels channels, LayerRole role,
                                       const std::string& recipe, const CallStyle& style) {
  StepStyle step;
  step.calls = style;
  step.half = recipe.find("-bf16-") != std::string::npos;
  step.optimizer = recipe.substr(0, recipe.find('-'));
  step.input_gradient = hands_gradient_down(role);
  step.loss = computes_loss(role);
  return work_of_body(calls_of_network(build_layer(kind, channels), kind.batch, step),
                      tensor_float_of(recipe));
}

}  // namespace ampere
