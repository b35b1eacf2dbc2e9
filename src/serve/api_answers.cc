#include <unistd.h>

#include <fstream>

#include "ampere/version.h"
#include "answers/models_answer.h"
#include "base/deadline.h"
#include "base/files.h"
#include "network/network_json.h"
#include "serve/api.h"
#include "serve/api_verbs.h"
#include "serve/limited.h"
#include "session/session.h"

namespace ampere {
namespace {

// Jobs name networks by what is on this server, and never by a path.
Json safe_jobs(Api& api, Json file) {
  for (Json& device : file["devices"]) {
    if (device.contains("store"))
      throw bad_input("devices: a device of this server's plans names no store; it is the server's own");
  }
  for (Json& job : file["jobs"]) {
    check_deadline();
    if (!job.contains("network")) continue;
    if (!job["network"].is_string())
      throw bad_input("jobs: a network is a name of the zoo or the id of a file that was sent");
    const std::string text = job["network"];
    const bool is_digest =
        text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    const ServedNetworkPtr known =
        api.networks().find(is_digest ? Json{{"id", text}} : Json{{"zoo", text}}, {}, true);
    job["network"] = api.networks().model_argument(*known);
  }
  return file;
}

}  // namespace

HttpResponse answer_status(Api& api, const ApiCall&) {
  const ServeOptions& o = api.options();
  const ServeLimits& l = o.limits;
  return json_response({{"version", version()},
                        {"read_only", o.read_only},
                        {"token_required", !o.token.empty()},
                        {"can_profile", !o.read_only && !o.worker.empty() && !o.program.empty()},
                        {"limits",
                         {{"body_bytes", l.body_bytes},
                          {"upload_bytes", l.upload_bytes},
                          {"request_s", l.request_s},
                          {"compute_s", l.compute_s},
                          {"child_s", l.child_s},
                          {"child_bytes", l.child_bytes},
                          {"connections", l.connections}}}});
}

HttpResponse answer_models(Api&, const ApiCall&) {
  static const Json models = zoo_json();
  return json_response(models);
}

HttpResponse answer_devices(Api& api, const ApiCall&) {
  return json_response(api.estimator().devices()->told);
}

HttpResponse answer_store(Api& api, const ApiCall&) { return json_response(api.estimator().store_counts()); }

HttpResponse answer_knowledge(Api& api, const ApiCall& call) {
  Recipe recipe;
  recipe.precision = parameter(call, "precision", recipe.precision);
  recipe.optimizer = parameter(call, "optimizer", recipe.optimizer);
  return json_response(api.estimator().knowledge(call.names[0], recipe, api.networks()));
}

HttpResponse answer_upload(Api& api, const ApiCall& call) {
  ReadingOptions reading;
  ImportOptions dims;
  for (const auto& [name, value] : call.query) {
    if (name == "input") reading.inputs.push_back(value);
    if (name == "dim") read_dimension(value, dims);
    if (name == "restore_batchnorm") reading.restore_batchnorm = value == "true";
    if (name == "ignore_unsupported") reading.ignore_unsupported = value == "true";
    if (name == "batch") {
      char* end = nullptr;
      const long long batch = std::strtoll(value.c_str(), &end, 10);
      if (*end != '\0' || batch < 1 || batch > kMaxWidth) throw bad_input("batch must be a number above 0");
      reading.batch = batch;
    }
  }
  reading.dims = dims.dims;
  std::string name = parameter(call, "name");
  if (name.empty()) name = call.request.header("x-filename");
  if (name.empty())
    throw bad_input(
        "the file has no name; say it with X-Filename or ?name=, since its ending tells the format");
  const ServedNetworkPtr known = api.networks().add(call.request.file, name, reading);
  HttpResponse response = json_response(known->info, 201);
  response.headers.emplace_back("Location", "/api/v1/networks/" + known->id);
  return response;
}

HttpResponse answer_network(Api& api, const ApiCall& call) {
  return json_response(api.networks().find_id(call.names[0])->info);
}

HttpResponse answer_network_file(Api& api, const ApiCall& call) {
  const ServedNetworkPtr known = api.networks().find_id(call.names[0]);
  HttpResponse response;
  response.body =
      network_to_json(known->loaded.network).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + known->id + ".json\"");
  return response;
}

HttpResponse answer_prune(Api& api, const ApiCall& call) {
  const Json& body = call.body;
  const ServedNetworkPtr network = network_of(api, call);
  std::vector<std::string> words;
  put_options(words, body,
              {"device", "budget", "risk", "by", "rank", "multiple_of", "min_channels", "search",
               "candidates", "seed", "samples", "epochs"});
  for (const Json& layer : body.value("keep", Json::array()))
    words.push_back("--keep=" + layer.get<std::string>());
  Json told = told_by_verb(api, "prune", words, *network, body);
  const std::string name = network->info.value("name", "network");
  const ServedNetworkPtr pruned =
      api.networks().add(network_from_json(told.at("network"), name), name + " pruned");
  told["id"] = pruned->id;
  return json_response(told);
}

HttpResponse answer_tune(Api& api, const ApiCall& call) {
  const ServedNetworkPtr network = network_of(api, call);
  std::vector<std::string> words;
  put_options(
      words, call.body,
      {"device", "samples", "epochs", "objective", "slower", "deadline", "price", "carbon", "device_price"});
  for (const Json& setting : call.body.value("settings", Json::array()))
    words.push_back("--settings=" + setting.get<std::string>());
  return json_response(told_by_verb(api, "tune", words, *network, call.body));
}

HttpResponse answer_schedule(Api& api, const ApiCall& call) {
  api.estimator().devices();
  const Json jobs = safe_jobs(api, call.body);
  const std::string file = api.networks().scratch_path() + ".json";
  struct Removed {
    const std::string& file;
    ~Removed() { unlink(file.c_str()); }
  } const removed{file};
  write_file(file, jobs.dump());
  std::vector<std::string> words = {"schedule", "--json", "--quiet", "--store=" + api.options().store};
  for (const char* name : {"risk", "solver", "simulate", "correlation", "seed", "price", "carbon"}) {
    const std::string value = parameter(call, name);
    if (!value.empty()) words.push_back(std::string("--") + name + "=" + value);
  }
  if (parameter(call, "jointly") == "true") words.emplace_back("--jointly");
  words.push_back(file);
  return json_response(run_limited(words, api.options(), {{file, "jobs"}}));
}

HttpResponse answer_measured(Api& api, const ApiCall& call) {
  const std::string job = call.body["job"];
  if (call.body.contains("predicted")) {
    const Json& p = call.body["predicted"];
    const auto figure = [&](const char* name) { return p.value(name, 0.0); };
    const std::string at = call.body.value("device", "");
    api.metrics().predicted(job, at.empty() ? "unknown" : at, figure("energy_j"), figure("energy_low_j"),
                            figure("energy_high_j"));
  }
  const std::string device = api.metrics().measured(call.body["job"], call.body.value("device", ""),
                                                    call.body["energy_j"].get<double>());
  return json_response({{"job", call.body["job"]}, {"device", device}});
}

HttpResponse answer_new_job(Api& api, const ApiCall& call) {
  const Json& body = call.body;
  const ServeOptions& o = api.options();
  if (o.worker.empty() || o.program.empty())
    throw HttpError(409, "worker", "this server has no worker to profile with; start it with --worker");
  std::vector<std::string> words;
  put_recipe(words, body);
  if (body.contains("network") && !body["network"].is_null()) {
    if (body.contains("minutes"))
      throw bad_input("minutes is for profiling the device itself; leave network away, or minutes");
    const ServedNetworkPtr network = network_of(api, call);
    words.push_back("--batch=" + std::to_string(body.value("batch", network->batch)));
    put_options(words, body, {"target"});
    if (body.value("exact", false)) words.emplace_back("--exact");
    words.push_back(api.networks().model_argument(*network));
  } else {
    for (const char* field : {"batch", "dims", "target", "exact"}) {
      if (body.contains(field))
        throw bad_input(std::string(field) +
                        " goes with a network; without one the device itself is profiled");
    }
    put_options(words, body, {"minutes"});
  }
  const std::string id = api.jobs().add(body, words);
  HttpResponse response = json_response(api.jobs().show(id), 202);
  response.headers.emplace_back("Location", "/api/v1/jobs/" + id);
  return response;
}

HttpResponse answer_metrics(Api& api, const ApiCall&) {
  MetricsText out;
  out.family("ampere_info", "gauge", "Which version serves");
  out.sample({{"version", version()}}, 1);
  api.metrics().write(out);
  const EstimateCounts& counts = api.estimator().counts();
  out.family("ampere_estimates_total", "counter", "Estimates, by how they came about");
  out.sample({{"how", "computed"}}, static_cast<double>(counts.computed));
  out.sample({{"how", "remembered"}}, static_cast<double>(counts.remembered));
  out.sample({{"how", "refused"}}, static_cast<double>(counts.refused));
  out.family("ampere_jobs", "gauge", "Profiling jobs, by state");
  for (const auto& [state, count] : api.jobs().counts()) out.sample({{"state", state}}, count);
  Json devices = {{"devices", Json::array()}};
  try {
    devices = api.estimator().devices()->told;
  } catch (const std::exception&) {  // all else can be told without the store
  }
  out.family("ampere_profile_points", "gauge", "Measurements in the store, by device and recipe");
  for (const Json& device : devices["devices"]) {
    for (const Json& recipe : device["recipes"])
      out.sample({{"device", device["name"]}, {"device_id", device["id"]}, {"recipe", recipe["recipe"]}},
                 recipe["points"]);
  }
  out.family("ampere_profile_kinds", "gauge", "Different kinds of layers that were measured");
  for (const Json& device : devices["devices"]) {
    for (const Json& recipe : device["recipes"])
      out.sample({{"device", device["name"]}, {"device_id", device["id"]}, {"recipe", recipe["recipe"]}},
                 recipe["kinds"]);
  }
  out.family("ampere_profile_coverage_ratio", "gauge",
             "Share of what was estimated that was measured on the device, not told by other layers");
  for (const auto& [device, coverage] : api.estimator().coverage())
    out.sample({{"device", device.first}, {"device_id", device.second}}, coverage);
  std::ifstream memory("/proc/self/statm");
  double pages = 0, resident = 0;
  memory >> pages >> resident;
  out.family("process_resident_memory_bytes", "gauge", "Memory of the server");
  out.sample({}, resident * static_cast<double>(sysconf(_SC_PAGESIZE)));
  HttpResponse response;
  response.type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = out.text();
  return response;
}

}  // namespace ampere
