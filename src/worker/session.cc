#include "worker/session.h"

#include <cmath>
#include <optional>

#include "ampere/version.h"
#include "network/network_json.h"
#include "worker/detect.h"
#include "worker/measure.h"
#include "worker/translate.h"

namespace ampere::worker {
namespace {

constexpr std::int64_t kMaxIterations = 10'000'000;
constexpr double kMaxIdleSeconds = 600;

// The id of a line that is wrong otherwise, so that the sender can tell which request failed.
std::int64_t id_of(const std::string& line) {
  try {
    const Json json = parse_json(line, "request");
    return JsonReader(json, "request").integer("id");
  } catch (const Error&) {
    return -1;
  }
}

}  // namespace

Session::Session(const SessionOptions& options) : options_(options), device_(open_device(options.device)) {}

std::string Session::refuse_long_line() {
  return error_line(-1, bad_input("request: the line is longer than 64 MiB"));
}

std::string Session::answer(const std::string& line) {
  std::int64_t id = -1;
  try {
    id = id_of(line);
    const Request request = request_from_line(line);
    std::string response = result_line(request.id, dispatch(request));
    device_->trim();
    return response;
  } catch (...) {
    const Error error = translate(std::current_exception());
    if (error.kind() == ErrorKind::kFailed || error.kind() == ErrorKind::kOutOfMemory) check_health();
    return error_line(id, error);
  }
}

void Session::check_health() {
  try {
    device_->synchronise();
    device_->trim();
  } catch (...) {
    ended_ = true;
    healthy_ = false;
  }
}

Json Session::dispatch(const Request& request) {
  const JsonReader r(request.params, request.verb);
  if (request.verb == "hello") {
    r.only({"protocol"});  // what the other side speaks; it decides whether to go on
    return {{"protocol", kProtocolVersion},
            {"worker", "ampere-worker"},
            {"version", kVersion},
            {"framework", framework_name()}};
  }
  if (request.verb == "detect") return detect(request.params);
  if (request.verb == "idle") return idle(request.params);
  if (request.verb == "measure") return measure(request.params);
  if (request.verb == "train") return train(request.params);
  if (request.verb == "trace") return trace(request.params, options_.trace);
  if (request.verb == "shutdown") {
    r.only({});
    ended_ = true;
    return Json::object();
  }
  throw bad_input("unknown verb \"" + request.verb +
                  "\" (known: hello, detect, idle, measure, train, trace, shutdown)");
}

MeterInUse& Session::meter(const std::string& name) {
  const std::string& wanted = name.empty() ? options_.meter : name;
  auto found = meters_.find(wanted);
  if (found == meters_.end()) found = meters_.emplace(wanted, use_meter(wanted, *device_)).first;
  return found->second;
}

Json Session::detect(const Json& params) {
  const JsonReader r(params, "detect");
  r.only({"characterise"});
  return worker::detect(*device_, options_.threads, options_.meter, r.boolean("characterise", false));
}

Json Session::idle(const Json& params) {
  JsonReader r(params, "idle");
  r.only({"seconds", "meter"});
  const double seconds = r.number("seconds", 1);
  if (!(seconds > 0 && seconds <= kMaxIdleSeconds))
    throw bad_input("idle: \"seconds\" must be above 0 and at most 600");
  MeterInUse& source = meter(r.text("meter", ""));
  const IdlePower power = measure_idle(seconds, *device_, source);
  return {{"power_w", power.power_w ? number_or_null(*power.power_w) : Json(nullptr)},
          {"seconds", power.seconds},
          {"meter", source.meter->info().name},
          {"modelled", source.meter->info().modelled}};
}

// A recipe without "threads" takes the worker's own default.
static void fill_threads(Json& params, int threads) {
  Json& recipe = params["recipe"];
  if (recipe.is_null()) recipe = Json::object();
  if (recipe.is_object() && !recipe.contains("threads")) recipe["threads"] = threads;
}

Json Session::measure(Json params) {
  fill_threads(params, options_.threads);
  const MeasureRequest request = measure_request_from_json(params);
  if (!request.energy) return to_json(worker::measure(request, *device_, nullptr));
  MeterInUse& source = meter(request.meter);
  // Windows take the energy of their own reads off, and for that must know what the device draws idle.
  if (!source.meter->info().modelled && !source.idle_known) measure_idle(1, *device_, source);
  return to_json(worker::measure(request, *device_, &source));
}

Json Session::train(Json params) {
  if (params.contains("run")) return train_run(params);
  fill_threads(params, options_.threads);
  JsonReader r(params, "train");
  r.only({"network", "batch", "recipe", "iterations"});
  const Network network = network_from_json(r.object("network"), "network");
  const std::int64_t iterations = r.integer("iterations");
  if (iterations < 1 || iterations > kMaxIterations) {
    throw bad_input("train: \"iterations\" must be between 1 and " + std::to_string(kMaxIterations));
  }
  const TrainSummary summary =
      worker::train(network, r.integer("batch"), recipe_from_json(r.object("recipe")), iterations, *device_);
  return {{"loss_first", number_or_null(summary.loss_first)},
          {"loss_last", number_or_null(summary.loss_last)},
          {"iterations", iterations},
          {"time_s", summary.time_s}};
}

// On real data, a stretch at a time: the first request brings network and data, later ones go on with them.
Json Session::train_run(const Json& params) {
  const JsonReader r(params, "train");
  const std::string name = r.text("run");
  if (r.has("end")) {
    r.only({"run", "end"});
    if (runs_.erase(name) == 0) throw bad_input("train: no run is called \"" + name + "\"");
    if (runs_.empty()) data_.clear();
    return Json::object();
  }
  const bool begins = r.has("network");
  if (begins) {
    r.only({"run", "network", "data", "batch", "recipe", "iterations", "learning_rate", "evaluate", "meter"});
  } else {
    r.only({"run", "iterations", "learning_rate", "evaluate", "meter"});
  }
  const std::int64_t iterations = r.integer("iterations", 0);
  const double rate = r.number("learning_rate", 0.01);
  if (iterations < 0 || iterations > kMaxIterations)
    throw bad_input("train: \"iterations\" must be between 0 and " + std::to_string(kMaxIterations));
  if (!(rate >= 0 && rate <= 1e6)) throw bad_input("train: \"learning_rate\" must be between 0 and 1e6");
  if (begins) {
    Json filled = params;
    fill_threads(filled, options_.threads);
    const Recipe recipe = recipe_from_json(filled.at("recipe"));
    std::shared_ptr<DeviceData>& data = data_[r.text("data")];
    if (!data) data = load_data(r.text("data"), *device_);
    runs_[name] = std::make_unique<TrainingRun>(network_from_json(r.object("network"), "network"),
                                                r.integer("batch"), recipe, data, *device_);
  } else if (runs_.find(name) == runs_.end()) {
    throw bad_input("train: no run is called \"" + name +
                    "\"; its first request must bring network, data and batch");
  }
  TrainingRun& run = *runs_.at(name);
  MeterInUse& source = meter(r.text("meter", ""));
  Json out = {{"meter", source.meter->info().name}, {"modelled", source.meter->info().modelled}};
  out["energy_j"] = out["time_s"] = out["loss_last"] = out["test_loss"] = out["test_accuracy"] = nullptr;
  if (iterations > 0) {
    if (!source.meter->info().modelled && !source.idle_known) measure_idle(1, *device_, source);
    const Stretch stretch = run.train(iterations, rate, source);
    if (stretch.energy_j > 0) out["energy_j"] = stretch.energy_j;
    out["time_s"] = stretch.time_s;
    out["loss_last"] = number_or_null(stretch.loss);
  }
  if (r.boolean("evaluate", false)) {
    const TestResult test = run.test();
    out["test_loss"] = number_or_null(test.loss);
    out["test_accuracy"] = number_or_null(test.accuracy);
  }
  out["iterations"] = iterations;
  out["iterations_in_all"] = run.iterations();
  return out;
}

namespace {

enum class LineEnd { kLine, kTooLong, kEndOfInput };

LineEnd read_line(std::FILE* in, std::string& line) {
  line.clear();
  bool too_long = false;
  for (int c = std::getc(in); c != EOF; c = std::getc(in)) {
    if (c == '\n') return too_long ? LineEnd::kTooLong : LineEnd::kLine;
    if (line.size() < kMaxLine) {
      line.push_back(static_cast<char>(c));
    } else {
      too_long = true;
    }
  }
  return line.empty() ? LineEnd::kEndOfInput : too_long ? LineEnd::kTooLong : LineEnd::kLine;
}

}  // namespace

int serve(Session& session, std::FILE* in, std::FILE* out) {
  std::string line;
  while (!session.ended()) {
    const LineEnd end = read_line(in, line);
    if (end == LineEnd::kEndOfInput) return 0;
    if (end == LineEnd::kLine && line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string response =
        (end == LineEnd::kLine ? session.answer(line) : Session::refuse_long_line()) + "\n";
    if (std::fwrite(response.data(), 1, response.size(), out) != response.size() || std::fflush(out) != 0) {
      return 1;  // nobody listens any more
    }
  }
  return session.healthy() ? 0 : 1;
}

}  // namespace ampere::worker
