// The routes, with what each takes.
#include "measure/recipe.h"
#include "serve/api.h"

namespace ampere {
namespace {

Json text_schema(const std::string& what, int longest = 1000) {
  return {{"type", "string"}, {"maxLength", longest}, {"description", what}};
}
Json word_schema(const std::vector<std::string>& words, const std::string& what) {
  return {{"type", "string"}, {"enum", words}, {"description", what}};
}
Json integer_schema(double least, double most, const std::string& what) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", what}};
}
Json number_schema(double least, double most, const std::string& what) {
  return {{"type", "number"}, {"minimum", least}, {"maximum", most}, {"description", what}};
}
Json flag_schema(const std::string& what) { return {{"type", "boolean"}, {"description", what}}; }
Json list_schema(const Json& items, int most, const std::string& what) {
  return {{"type", "array"}, {"items", items}, {"maxItems", most}, {"description", what}};
}
Json object_schema(const Json& properties, const std::vector<std::string>& required) {
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}
Json joined(Json a, const Json& b) {
  a.update(b);
  return a;
}

Json which_network() {
  return {{"type", "object"},
          {"description", "Either a name of the zoo (\"resnet18:w1=32\") or the id of a file that was sent"},
          {"properties",
           {{"zoo", text_schema("A name of /api/v1/models, with parameters")},
            {"id", text_schema("An id of POST /api/v1/networks", 32)}}},
          {"minProperties", 1},
          {"maxProperties", 1},
          {"additionalProperties", false}};
}

// A network, and how it will be trained.
Json training_fields() {
  return {{"network", which_network()},
          {"batch", integer_schema(1, 16777216, "Samples per iteration; as the file was exported, else 1")},
          {"dims",
           {{"type", "object"},
            {"description", "Sizes of dimensions that an ONNX file names, or parameters of a zoo network"},
            {"additionalProperties", integer_schema(1, 16777216, "A size")},
            {"maxProperties", 32}}},
          {"optimizer", word_schema(kOptimizers, "sgd unless given")},
          {"precision", word_schema(kPrecisions, "default unless given")},
          {"autotune", flag_schema("Let the framework time its kernels and keep the fastest")},
          {"threads", integer_schema(1, 4096, "CPU threads")},
          {"mode", word_schema({"eager", "replay"}, "eager unless given")}};
}

Json job_fields() {
  return {{"samples", integer_schema(1, 1e12, "Of an epoch; gives figures per epoch and per job")},
          {"epochs", integer_schema(1, 1e9, "1 unless given")},
          {"price", text_schema("What energy costs: 0.30EUR/kWh", 100)},
          {"carbon", text_schema("What it emits: 380g/kWh, or a country (FR)", 100)}};
}

Json estimate_schema() {
  return object_schema(
      joined(joined(training_fields(), job_fields()),
             {{"devices", list_schema(text_schema("An id, how it begins, or sheet:NAME", 100), 64,
                                      "All of the store unless given")},
              {"method", word_schema({"split", "paper", "neuralpower"}, "split unless given")},
              {"power_limit_w", number_schema(0, 1e5, "Under a limit of so many watts; 0: as it comes")},
              {"clock_mhz", number_schema(0, 1e5, "Locked to a clock; 0: as it comes")},
              {"battery", text_schema("15Wh, 5000mAh@3.85V: does the job fit?", 100)},
              {"risk", text_schema("How often it may fail to: 5%", 100)},
              {"layers", flag_schema("Layer by layer, too; true unless given")},
              {"job", text_schema("A name that its energy is told by in /metrics", 200)}}),
      {"network"});
}

Json prune_schema() {
  return object_schema(
      joined(training_fields(),
             {{"device", text_schema("Id of a stored device; the one used last unless given", 100)},
              {"budget", text_schema("A share (50%), or energy: 40J/iter, 2kWh/job", 100)},
              {"risk", text_schema("Chance that it may be exceeded: 5%", 100)},
              {"by", word_schema({"energy", "flops"}, "energy unless given")},
              {"rank", word_schema({"parameters", "flops"}, "parameters unless given")},
              {"multiple_of", integer_schema(1, 16777216, "Channels that change become multiples of this")},
              {"min_channels", text_schema("Fewest of any layer: 4, or 10%", 100)},
              {"keep", list_schema(text_schema("A layer"), 1000, "Layers that stay as they are")},
              {"search", word_schema({"evolve", "random"}, "evolve unless given")},
              {"candidates", integer_schema(1, 1e7, "How many to look at")},
              {"seed", integer_schema(0, 1e15, "Of the search")},
              {"samples", integer_schema(1, 1e12, "Of an epoch, for a budget per job")},
              {"epochs", integer_schema(1, 1e9, "1 unless given")}}),
      {"network", "budget"});
}

Json tune_schema() {
  return object_schema(
      joined(joined(training_fields(), job_fields()),
             {{"device", text_schema("Id of a stored device; the one used last unless given", 100)},
              {"objective", word_schema({"energy", "time", "energy*delay", "cost"}, "energy unless given")},
              {"slower", text_schema("At most so much longer than the present setting: 10%", 100)},
              {"deadline", text_schema("The job ends within this: 8h", 100)},
              {"device_price", text_schema("What an hour of the device costs: 2.10/h", 100)},
              {"settings", list_schema(text_schema("limit=300,400 or precision=bf16 ..."), 16,
                                       "What may change; the usual unless given")}}),
      {"network", "samples"});
}

// docs/jobs.schema.json has the whole of it, which the planner itself checks.
Json schedule_schema() {
  const Json objects = {{"type", "array"}, {"items", {{"type", "object"}}}, {"maxItems", 10000}};
  return {{"type", "object"},
          {"description",
           "A jobs file (docs/jobs.schema.json). A network is a name of the zoo or an id of POST "
           "/api/v1/networks; a device names no store."},
          {"properties", {{"schema_version", {{"enum", {1}}}}, {"devices", objects}, {"jobs", objects}}},
          {"required", {"devices", "jobs"}},
          {"additionalProperties", false}};
}

Json job_schema() {
  Json fields = training_fields();
  fields.erase("mode");
  fields["network"]["type"] = {"object", "null"};
  return object_schema(
      joined(fields, {{"kind", word_schema({"profile"}, "What to do")},
                      {"minutes", number_schema(0.01, 1440, "Without a network: how long; 5 unless given")},
                      {"target", text_schema("With one: until its energy is known so well, 5%", 100)},
                      {"exact", flag_schema("With one: only its own layers, once each")}}),
      {"kind"});
}

Json measured_schema() {
  const Json joules = number_schema(0, 1e18, "Joules");
  const Json figures = {
      {"type", "object"},
      {"description", "What it was estimated to take, where that is known, as ampere run --json tells it"},
      {"properties", {{"energy_j", joules}, {"energy_low_j", joules}, {"energy_high_j", joules}}}};
  Json schema = object_schema({{"job", text_schema("Which one", 200)},
                               {"device", text_schema("Where; the device it was estimated for", 200)},
                               {"energy_j", number_schema(0, 1e18, "What it took")},
                               {"predicted", figures}},
                              {"job", "energy_j"});
  schema["additionalProperties"] = true;  // what else ampere measure --json says
  return schema;
}

Json upload_query() {
  return {{"name", text_schema("The file's name, unless X-Filename has it; tells its format", 1000)},
          {"input", text_schema("Shape of an input of a .pt file: 3x224x224; may come several times", 200)},
          {"dim", text_schema("NAME=SIZE of an .onnx file; may come several times", 200)},
          {"batch", text_schema("Batch to read it with", 20)},
          {"restore_batchnorm", word_schema({"true", "false"}, "Put back folded batch norms")},
          {"ignore_unsupported", word_schema({"true", "false"}, "Go on without unknown ops")}};
}

Json schedule_query() {
  return {{"risk", text_schema("How often a battery or a deadline may fail, each: 5%", 20)},
          {"jointly", word_schema({"true", "false"}, "All together, instead of each")},
          {"solver", word_schema({"auto", "exact", "heuristic"}, "auto unless given")},
          {"simulate", text_schema("Run the plan so often with energies and times drawn anew", 20)},
          {"correlation", text_schema("Of errors between kinds of jobs on one device: 50%", 20)},
          {"seed", text_schema("Of heuristic and simulation", 20)},
          {"price", text_schema("What energy costs: 0.30EUR/kWh", 100)},
          {"carbon", text_schema("What it emits: 380g/kWh, or a country (FR)", 100)}};
}

Json report_schema() {
  Json options = object_schema(schedule_query(), {});
  options["description"] = "What POST /api/v1/schedule takes as parameters";
  return object_schema(
      {{"title", text_schema("What the file is called at its top", 200)},
       {"view", word_schema({"estimate", "prune", "tune", "plan", "devices"}, "Shown first")},
       {"estimate", estimate_schema()},
       {"prune", prune_schema()},
       {"tune", tune_schema()},
       {"schedule", schedule_schema()},
       {"schedule_options", options}},
      {"estimate"});
}

Json recipe_query() {
  return {{"precision", word_schema(kPrecisions, "default unless given")},
          {"optimizer", word_schema(kOptimizers, "sgd unless given")}};
}

HttpResponse answer_job(Api& api, const ApiCall& call) {
  return json_response(api.jobs().show(call.names[0]));
}
HttpResponse answer_jobs(Api& api, const ApiCall&) { return json_response({{"jobs", api.jobs().list()}}); }
HttpResponse answer_stop(Api& api, const ApiCall& call) {
  return json_response(api.jobs().stop(call.names[0]));
}
HttpResponse answer_resume(Api& api, const ApiCall& call) {
  return json_response(api.jobs().resume(call.names[0]));
}
HttpResponse answer_events(Api& api, const ApiCall& call) {
  HttpResponse response;
  response.type = "text/event-stream";
  response.events = api.jobs().watch(call.names[0]);
  return response;
}
HttpResponse answer_openapi(Api&, const ApiCall&) {
  static const Json described = openapi();
  return json_response(described);
}

std::vector<ApiRoute> make_routes() {
  const std::string v1 = "/api/v1";
  std::vector<ApiRoute> routes;
  const auto add = [&](ApiRoute route) { routes.push_back(std::move(route)); };
  add({.method = "GET",
       .path = v1 + "/status",
       .summary = "Version, mode and limits of this server",
       .told = "Status",
       .call = answer_status});
  add({.method = "GET",
       .path = v1 + "/openapi.json",
       .summary = "This description",
       .told = "OpenApi",
       .call = answer_openapi});
  add({.method = "GET",
       .path = v1 + "/models",
       .summary = "The networks known by name, as ampere models --json",
       .told = "Models",
       .call = answer_models});
  add({.method = "GET",
       .path = v1 + "/devices",
       .summary = "Devices of the store, how much was measured of each, and data sheets",
       .told = "Devices",
       .call = answer_devices});
  add({.method = "GET",
       .path = v1 + "/devices/{id}/knowledge",
       .summary = "How well the networks of the zoo are known on a device, and what measuring would bring",
       .query = recipe_query(),
       .slow = true,
       .told = "Knowledge",
       .call = answer_knowledge});
  add({.method = "GET",
       .path = v1 + "/store",
       .summary = "As ampere store list --json",
       .told = "Store",
       .call = answer_store});
  add({.method = "POST",
       .path = v1 + "/networks",
       .summary = "Send an ONNX, TorchScript or network file; it is read in a process of its own",
       .file = true,
       .query = upload_query(),
       .status = 201,
       .slow = true,
       .told = "NetworkInfo",
       .call = answer_upload});
  add({.method = "GET",
       .path = v1 + "/networks/{id}",
       .summary = "What was read from a file",
       .told = "NetworkInfo",
       .call = answer_network});
  add({.method = "GET",
       .path = v1 + "/networks/{id}/file",
       .summary = "It as a network file (docs/network.schema.json)",
       .told = "NetworkFile",
       .call = answer_network_file});
  add({.method = "POST",
       .path = v1 + "/estimate",
       .summary = "Energy and time of training, each as ampere estimate --json, for several devices",
       .body = estimate_schema(),
       .told = "Estimates",
       .call = answer_estimate});
  add({.method = "POST",
       .path = v1 + "/layers",
       .summary = "Layers and the graph of a network, as ampere layers --json",
       .body = object_schema({{"network", which_network()},
                              {"batch", training_fields()["batch"]},
                              {"dims", training_fields()["dims"]}},
                             {"network"}),
       .told = "Layers",
       .call = answer_layers});
  add({.method = "POST",
       .path = v1 + "/prune",
       .summary = "Fewer channels within a budget, as ampere prune --json, and the id of the result",
       .body = prune_schema(),
       .slow = true,
       .told = "Pruned",
       .call = answer_prune});
  add({.method = "POST",
       .path = v1 + "/tune",
       .summary = "Settings to train with, as ampere tune --json",
       .body = tune_schema(),
       .slow = true,
       .told = "Tuned",
       .call = answer_tune});
  add({.method = "POST",
       .path = v1 + "/schedule",
       .summary = "Which job runs where and when, as ampere schedule --json",
       .body = schedule_schema(),
       .query = schedule_query(),
       .slow = true,
       .told = "Plan",
       .call = answer_schedule});
  add({.method = "POST",
       .path = v1 + "/report",
       .summary = "The page with these answers as one HTML file, which opens without a server",
       .body = report_schema(),
       .answer = "text/html",
       .slow = true,
       .call = answer_report});
  add({.method = "POST",
       .path = v1 + "/measured",
       .summary = "What a named job took, to be told beside its estimate in /metrics",
       .body = measured_schema(),
       .changes = true,
       .told = "Measured",
       .call = answer_measured});
  add({.method = "POST",
       .path = v1 + "/jobs",
       .summary = "Profile a network, or the device itself",
       .body = job_schema(),
       .status = 202,
       .changes = true,
       .told = "Job",
       .call = answer_new_job});
  add({.method = "GET",
       .path = v1 + "/jobs",
       .summary = "All jobs, the newest first",
       .told = "Jobs",
       .call = answer_jobs});
  add({.method = "GET", .path = v1 + "/jobs/{id}", .summary = "One job", .told = "Job", .call = answer_job});
  add({.method = "GET",
       .path = v1 + "/jobs/{id}/events",
       .summary = "Its progress as server-sent events: state, progress, done, failed, stopped, interrupted",
       .answer = "text/event-stream",
       .call = answer_events});
  add({.method = "POST",
       .path = v1 + "/jobs/{id}/stop",
       .summary = "Stop it; what was measured is kept",
       .changes = true,
       .told = "Job",
       .call = answer_stop});
  add({.method = "POST",
       .path = v1 + "/jobs/{id}/resume",
       .summary = "Go on with one that has ended",
       .changes = true,
       .told = "Job",
       .call = answer_resume});
  add({.method = "GET",
       .path = "/metrics",
       .summary = "For Prometheus",
       .answer = "text/plain",
       .call = answer_metrics});
  return routes;
}

}  // namespace

const std::vector<ApiRoute>& api_routes() {
  static const std::vector<ApiRoute> routes = make_routes();
  return routes;
}

}  // namespace ampere
