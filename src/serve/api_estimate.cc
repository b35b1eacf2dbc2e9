// Estimates and layers. Those of small networks are computed here, where fitted devices stay in memory; those
// of large ones in processes of their own, which take time and memory by their size and can be ended.
#include <algorithm>

#include "answers/layers_answer.h"
#include "base/deadline.h"
#include "base/quantity_text.h"
#include "serve/api_verbs.h"
#include "serve/limited.h"
#include "session/session.h"

namespace ampere {
namespace {

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The answer with layers that are text already, in place of none.
std::string with_layers(const Json& answer, const std::string& layers) {
  std::string text = json_text(answer);
  const std::string none = "\"layers\":[]";  // a quote within a text would have a backslash before it
  const std::size_t at = text.find(none);
  return text.replace(at + none.size() - 2, 2, layers);
}

// What an estimate is told for, apart from the network and the device.
struct AskedFor {
  explicit AskedFor(const Json& body) {
    tariff = tariff_of(body.value("price", ""), body.value("carbon", ""));
    samples = body.value("samples", samples);
    epochs = body.value("epochs", epochs);
    if (epochs > 1 && samples == 0)
      throw bad_input("epochs is about a whole job; say how many samples an epoch has, too");
    if (body.contains("battery")) battery = parse_energy(body["battery"].get<std::string>(), "battery");
    risk = parse_fraction(body.value("risk", "5%"), "risk", 1e-4, 0.5);
    if (battery && samples == 0)
      throw bad_input("battery is about a whole job; say how long it is: samples and epochs");
  }
  Tariff tariff;
  std::int64_t samples = 0, epochs = 1;
  std::optional<Joules> battery;
  double risk = 0;
};

EstimateOptions estimate_options(const Json& body) {
  EstimateOptions options;
  options.method = body.value("method", options.method);
  options.mode = body.value("mode", "eager") == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  options.power_limit_w = body.value("power_limit_w", 0.0);
  options.clock_mhz = body.value("clock_mhz", 0.0);
  return options;
}

std::string small_estimate(Api& api, const ApiCall& call, const ServedNetwork& network,
                           const std::string& device, const AskedFor& asked) {
  const Json& body = call.body;
  const TrainingSetup setup{body.value("batch", network.batch), recipe_of(body)};
  ServedEstimate served = api.estimator().answer(device, network, setup, estimate_options(body));
  EstimateAnswer& a = served.answer;
  a.tariff = asked.tariff;
  a.job = job_length(asked.samples, setup.batch, asked.epochs);
  if (asked.battery) {
    a.risk = asked.risk;
    a.battery = admit(job_cost(a.estimate, a.job.iterations).energy_j, asked.battery->value(), asked.risk);
  }
  if (body.contains("job")) {
    const Interval whole = a.estimate.energy_j * (a.job.iterations > 0 ? a.job.iterations : 1);
    api.metrics().predicted(body["job"], a.device.fingerprint.value("name", "?"), whole.value, whole.low,
                            whole.high);
  }
  Json told = to_json(a);
  told["asked"] = device;
  return with_layers(told, body.value("layers", true) ? *served.layers : "[]");
}

std::string large_estimate(Api& api, const ApiCall& call, const ServedNetwork& network,
                           const std::string& device) {
  const Json& body = call.body;
  std::vector<std::string> words;
  put_options(words, body, {"method", "samples", "epochs", "battery", "risk", "price", "carbon"});
  for (const auto& [field, option] :
       {std::pair{"power_limit_w", "--power-limit="}, {"clock_mhz", "--clock="}}) {
    if (body.value(field, 0.0) > 0) words.push_back(option + body[field].dump());
  }
  const std::optional<std::string> sheet = sheet_of(device);
  if (sheet) words.push_back("--sheet=" + *sheet);
  if (!sheet && !device.empty()) words.push_back("--device=" + device);
  Json told = told_by_verb(api, "estimate", words, network, body);
  const Json& whole = told.contains("job") ? told["job"] : told["iteration"];
  if (body.contains("job"))
    api.metrics().predicted(body["job"], told["device"].value("name", "?"), whole["energy_j"],
                            whole["energy_low_j"], whole["energy_high_j"]);
  told["asked"] = device;
  if (!body.value("layers", true)) told["layers"] = Json::array();
  return json_text(told);
}

}  // namespace

HttpResponse answer_estimate(Api& api, const ApiCall& call) {
  const ServedNetworkPtr network = network_of(api, call);
  const AskedFor asked(call.body);
  if (network->is_large && !call.request.may_wait) throw MustWait{};
  const std::vector<std::string> devices = call.body.contains("devices")
                                               ? call.body["devices"].get<std::vector<std::string>>()
                                               : api.estimator().devices()->measured;
  std::string estimates;
  for (const std::string& device : devices) {
    check_deadline();
    if (!estimates.empty()) estimates += ",";
    try {
      estimates += network->is_large ? large_estimate(api, call, *network, device)
                                     : small_estimate(api, call, *network, device, asked);
    } catch (const Error& e) {
      estimates += json_text({{"asked", device}, {"problem", problem_json(e)}});
    }
  }
  HttpResponse response;
  response.body = "{\"schema_version\":" + std::to_string(kOutputSchemaVersion) +
                  ",\"network\":" + json_text(network->id) + ",\"estimates\":[" + estimates + "]}";
  return response;
}

HttpResponse answer_layers(Api& api, const ApiCall& call) {
  const ServedNetworkPtr network = network_of(api, call);
  const std::int64_t batch = call.body.value("batch", network->batch);
  if (network->is_large && !call.request.may_wait) throw MustWait{};
  Json told;
  if (network->is_large) {
    const std::string model = api.networks().model_argument(*network);
    told = run_limited({"layers", "--json", "--batch=" + std::to_string(batch), model}, api.options(),
                       {{model, network->info.value("name", "network")}});
  } else {
    told = layers_json(network->loaded, batch);
  }
  told["network"] = network->info;
  return json_response(told);
}

}  // namespace ampere
