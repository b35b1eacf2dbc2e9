// Saving what the page shows: the questions are asked again, and kept with their answers in the page itself.
#include "ampere/version.h"
#include "serve/api.h"
#include "serve/freeze.h"
#include "store/store.h"

namespace ampere {
namespace {

using Answer = HttpResponse (*)(Api&, const ApiCall&);

Json answer_to(Api& api, const ApiCall& call, Answer answer, const Json& body = {},
               std::vector<std::pair<std::string, std::string>> query = {}) {
  return Json::parse(answer(api, {call.request, {}, std::move(query), body}).body);
}

// Those that were asked about, where not all were.
Json devices_asked_about(Json known, const Json& estimate) {
  if (!estimate.contains("devices")) return known;
  Json devices = Json::array();
  for (const Json& device : known["devices"]) {
    for (const Json& asked : estimate["devices"]) {
      if (device["id"].get<std::string>().rfind(asked.get<std::string>(), 0) != 0) continue;
      devices.push_back(device);
      break;
    }
  }
  known["devices"] = devices;
  return known;
}

}  // namespace

HttpResponse answer_report(Api& api, const ApiCall& call) {
  const Json& estimate = call.body["estimate"];
  Json answers = {{"status", answer_to(api, call, answer_status)},
                  {"models", answer_to(api, call, answer_models)},
                  {"devices", devices_asked_about(answer_to(api, call, answer_devices), estimate)},
                  {"estimate", answer_to(api, call, answer_estimate, estimate)}};
  Json about = Json::object();
  for (const char* field : {"network", "batch", "dims"}) {
    if (estimate.contains(field)) about[field] = estimate[field];
  }
  answers["layers"] = answer_to(api, call, answer_layers, about);
  if (estimate["network"].contains("id")) {
    const std::string id = estimate["network"]["id"];
    answers["networks/" + id] = api.networks().find_id(id)->info;
  }
  if (call.body.contains("prune")) answers["prune"] = answer_to(api, call, answer_prune, call.body["prune"]);
  if (call.body.contains("tune")) answers["tune"] = answer_to(api, call, answer_tune, call.body["tune"]);
  if (call.body.contains("schedule")) {
    std::vector<std::pair<std::string, std::string>> query;
    const Json options = call.body.value("schedule_options", Json::object());
    for (const auto& [name, value] : options.items()) query.emplace_back(name, value.get<std::string>());
    answers["schedule"] = answer_to(api, call, answer_schedule, call.body["schedule"], query);
  }
  Json asked = call.body;
  asked.erase("title");
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = frozen_page({{"title", call.body.value("title", "A report · ampere")},
                               {"view", call.body.value("view", "estimate")},
                               {"saved_at", utc_now()},
                               {"asked", asked},
                               {"answers", answers}});
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"ampere-report.html\"");
  return response;
}

}  // namespace ampere
