#include "worker/basic_session.h"

#include "ampere/version.h"
#include "network/network_json.h"
#include "worker/detect.h"
#include "worker/measure.h"

namespace ampere::worker {
namespace {

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

BasicSession::BasicSession(std::unique_ptr<Device> device, WorkerOptions options)
    : device_(std::move(device)), options_(std::move(options)) {}

std::string BasicSession::refuse_long_line() {
  return error_line(-1, bad_input("request: the line is longer than 64 MiB"));
}

std::string BasicSession::answer(const std::string& line) {
  std::int64_t id = -1;
  try {
    id = id_of(line);
    const Request request = request_from_line(line);
    std::string response = result_line(request.id, dispatch(request));
    device_->trim();
    return response;
  } catch (...) {
    const Error error = device_->explain(std::current_exception());
    if (error.kind() == ErrorKind::kFailed || error.kind() == ErrorKind::kOutOfMemory) check_health();
    return error_line(id, error);
  }
}

void BasicSession::check_health() {
  try {
    device_->synchronise();
    device_->trim();
  } catch (...) {
    ended_ = true;
    healthy_ = false;
  }
}

Json BasicSession::dispatch(const Request& request) {
  const JsonReader r(request.params, request.verb);
  if (request.verb == "hello") {
    r.only({"protocol"});  // what the other side speaks; it decides whether to go on
    return {{"protocol", kProtocolVersion},
            {"worker", options_.worker},
            {"version", kVersion},
            {"framework", device_->framework()}};
  }
  if (request.verb == "detect") return detect(request.params);
  if (request.verb == "idle") return idle(request.params);
  if (request.verb == "measure") return measure(request.params);
  if (request.verb == "train") return train(request.params);
  if (request.verb == "shutdown") {
    r.only({});
    ended_ = true;
    return Json::object();
  }
  throw bad_input("unknown verb \"" + request.verb + "\" (known: " + verbs() + ")");
}

MeterInUse& BasicSession::meter(const std::string& name) {
  const std::string& wanted = name.empty() ? options_.meter : name;
  auto found = meters_.find(wanted);
  if (found == meters_.end()) found = meters_.emplace(wanted, use_meter(wanted, *device_)).first;
  return found->second;
}

Json BasicSession::detect(const Json& params) {
  const JsonReader r(params, "detect");
  r.only({"characterise"});
  return worker::detect(*device_, options_.threads, options_.meter, r.boolean("characterise", false));
}

Json BasicSession::idle(const Json& params) {
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

void BasicSession::fill_threads(Json& params) const {
  Json& recipe = params["recipe"];
  if (recipe.is_null()) recipe = Json::object();
  if (recipe.is_object() && !recipe.contains("threads")) recipe["threads"] = options_.threads;
}

Json BasicSession::measure(Json params) {
  fill_threads(params);
  const MeasureRequest request = measure_request_from_json(params);
  if (!request.energy) return to_json(worker::measure(request, *device_, nullptr));
  MeterInUse& source = meter(request.meter);
  // Windows take the energy of their own reads off, and for that must know what the device draws idle.
  if (!source.meter->info().modelled && !source.idle_known) measure_idle(1, *device_, source);
  return to_json(worker::measure(request, *device_, &source));
}

Json BasicSession::train(Json params) {
  fill_threads(params);
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

int serve(BasicSession& session, std::FILE* in, std::FILE* out) {
  std::string line;
  while (!session.ended()) {
    const LineEnd end = read_line(in, line);
    if (end == LineEnd::kEndOfInput) return 0;
    if (end == LineEnd::kLine && line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string response =
        (end == LineEnd::kLine ? session.answer(line) : BasicSession::refuse_long_line()) + "\n";
    if (std::fwrite(response.data(), 1, response.size(), out) != response.size() || std::fflush(out) != 0) {
      return 1;  // nobody listens any more
    }
  }
  return session.healthy() ? 0 : 1;
}

}  // namespace ampere::worker
