// The routes as OpenAPI 3.1. What they answer is described in docs/answers.schema.json, which the program
// carries.
#include "ampere/version.h"
#include "serve/api.h"
#include "serve/assets.h"

namespace ampere {
namespace {

// Its definitions, where OpenAPI has them.
Json answer_schemas() {
  std::string text(find_web_asset("answers.schema.json")->bytes);
  const std::string there = "#/$defs/", here = "#/components/schemas/";
  for (std::size_t at = 0; (at = text.find(there, at)) != std::string::npos; at += here.size())
    text.replace(at, there.size(), here);
  return Json::parse(text)["$defs"];
}

// "get_jobs_id_events"
std::string operation_id(const ApiRoute& route) {
  std::string id;
  for (const char c : route.path.rfind("/api/v1", 0) == 0 ? route.path.substr(7) : route.path) {
    if (c == '/' || c == '.') id += '_';
    if ((c >= 'a' && c <= 'z') || c == '_') id += c;
  }
  return (route.method == "GET" ? "get" : "post") + id;
}

Json parameters_of(const ApiRoute& route) {
  Json parameters = Json::array();
  for (std::size_t at = 0; (at = route.path.find('{', at)) != std::string::npos; ++at) {
    const std::string name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    parameters.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const auto& [name, schema] : route.query.items())
    parameters.push_back({{"name", name}, {"in", "query"}, {"required", false}, {"schema", schema}});
  return parameters;
}

}  // namespace

Json openapi() {
  Json paths = Json::object();
  for (const ApiRoute& route : api_routes()) {
    const Json answer =
        route.told.empty() ? Json{{"type", "string"}} : Json{{"$ref", "#/components/schemas/" + route.told}};
    Json operation = {
        {"operationId", operation_id(route)},
        {"summary", route.summary},
        {"responses",
         {{std::to_string(route.status),
           {{"description", "Done"}, {"content", {{route.answer, {{"schema", answer}}}}}}},
          {"default",
           {{"description", "Why not"},
            {"content",
             {{"application/problem+json", {{"schema", {{"$ref", "#/components/schemas/Problem"}}}}}}}}}}}};
    const Json parameters = parameters_of(route);
    if (!parameters.empty()) operation["parameters"] = parameters;
    if (route.file)
      operation["requestBody"] = {
          {"required", true},
          {"content",
           {{"application/octet-stream", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}}}};
    else if (!route.body.is_null())
      operation["requestBody"] = {{"required", true},
                                  {"content", {{"application/json", {{"schema", route.body}}}}}};
    paths[route.path][route.method == "GET" ? "get" : "post"] = operation;
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "AMPERE"},
            {"version", kVersion},
            {"summary", "How many joules will it take to train this network on this device?"},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"security", Json::array({Json::object(), {{"token", Json::array()}}})},
          {"paths", paths},
          {"components",
           {{"schemas", answer_schemas()},
            {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace ampere
