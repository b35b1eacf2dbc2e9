#include "serve/api_verbs.h"

#include <cmath>

#include "serve/limited.h"

namespace ampere {
namespace {

std::map<std::string, std::int64_t> dims_of(const Json& body) {
  std::map<std::string, std::int64_t> dims;
  const Json given = body.value("dims", Json::object());
  for (const auto& [name, size] : given.items()) {
    if (name.empty() || name.find_first_of(",=:") != std::string::npos)
      throw bad_input("dims: \"" + name + "\" is no name of a dimension");
    dims[name] = size;
  }
  return dims;
}

// A field as an option of the command line.
void put_option(std::vector<std::string>& words, const Json& body, const std::string& field,
                const std::string& option) {
  if (!body.contains(field)) return;
  Json value = body[field];
  const bool whole = value.is_number_float() && std::floor(value.get<double>()) == value.get<double>();
  if (whole) value = static_cast<std::int64_t>(value.get<double>());  // 8.0 is written 8 on a command line
  words.push_back(option + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
}

}  // namespace

ServedNetworkPtr network_of(Api& api, const ApiCall& call) {
  return api.networks().find(call.body["network"], dims_of(call.body), call.request.may_wait);
}

Recipe recipe_of(const Json& body) {
  Recipe recipe;
  recipe.optimizer = body.value("optimizer", recipe.optimizer);
  recipe.precision = body.value("precision", recipe.precision);
  recipe.autotune = body.value("autotune", recipe.autotune);
  recipe.threads = body.value("threads", recipe.threads);
  return recipe;
}

std::string parameter(const ApiCall& call, const std::string& name, const std::string& otherwise) {
  for (const auto& [key, value] : call.query) {
    if (key == name) return value;
  }
  return otherwise;
}

void put_options(std::vector<std::string>& words, const Json& body, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    std::string option = "--" + field;
    for (char& c : option) c = c == '_' ? '-' : c;
    put_option(words, body, field, option);
  }
}

void put_recipe(std::vector<std::string>& words, const Json& body) {
  put_options(words, body, {"optimizer", "precision", "threads", "mode"});
  if (body.value("autotune", false)) words.emplace_back("--autotune=on");
}

Json told_by_verb(Api& api, const std::string& verb, std::vector<std::string> words,
                  const ServedNetwork& network, const Json& body) {
  api.estimator().devices();  // says so where the store is gone, which a process would take for an empty one
  const std::string model = api.networks().model_argument(network);
  words.insert(words.begin(), {verb, "--json", "--quiet", "--store=" + api.options().store,
                               "--batch=" + std::to_string(body.value("batch", network.batch))});
  put_recipe(words, body);
  words.push_back(model);
  const std::string name = network.info.value("name", "network");
  return run_limited(words, api.options(), {{model, name}});
}

}  // namespace ampere
