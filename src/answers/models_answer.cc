#include "answers/models_answer.h"

#include "network/cost.h"
#include "network/zoo.h"
#include "session/session.h"

namespace ampere {

Json zoo_json() {
  Json models = Json::array();
  for (const ZooEntry& entry : zoo()) {
    Json parameters = Json::object();
    for (const ZooParameter& p : entry.parameters)
      parameters[p.name] = {{"value", p.value}, {"min", p.min}, {"step", p.step}, {"sampled", p.sampled}};
    models.push_back({{"name", entry.name},
                      {"family", entry.family},
                      {"description", entry.description},
                      {"weights", network_cost(build(parse_zoo(entry.name)), 1).parameters},
                      {"parameters", parameters}});
  }
  return {{"schema_version", kOutputSchemaVersion}, {"models", models}};
}

}  // namespace ampere
