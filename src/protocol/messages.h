// The messages that ampere and a worker exchange, one JSON object a line (docs/protocol.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "meter/window.h"
#include "network/network.h"

namespace ampere {

// Raised when a message changes in a way that an older peer would misread.
inline constexpr int kProtocolVersion = 1;

// How a network is trained: what changes the cost of the same layer. Part of every stored key.
struct Recipe {
  std::string optimizer = "sgd";   // "sgd", "momentum", "adam"
  std::string precision = "fp32";  // "fp32", "tf32", "bf16"
  bool autotune = false;           // let the framework time its kernels and keep the fastest
  bool deterministic = false;
  int threads = 1;        // CPU threads
  std::int64_t seed = 1;  // of weights and data; not part of the key

  // One readable word: "sgd-fp32-t1", "adam-bf16-autotune-t4".
  std::string word() const;
};

enum class MeasureMode {
  kEager,   // every step issued by the host, as plain training does
  kReplay,  // steps captured once and replayed back to back; the device never waits for the host
};

// Which part of an iteration is repeated. Training needs all of it; NeuralPower's way of estimating adds up
// its three stages, each repeated by itself.
enum class Phase { kIteration, kForward, kBackward, kUpdate };
// "iteration", "forward", "backward", "update"
const char* to_word(Phase phase);

// "Train this network and tell what one iteration costs."
struct MeasureRequest {
  Network network;
  std::int64_t batch = 1;
  MeasureMode mode = MeasureMode::kEager;
  Phase phase = Phase::kIteration;
  // False: only time is wanted, which takes a twentieth of the time that a counter of energy needs.
  bool energy = true;
  // True: the backward pass starts from a loss against random targets. False: from a given gradient
  // of the output, so that a layer is measured without one.
  bool loss = true;
  // True: the input is a leaf that wants its gradient, as the input of a hidden layer does.
  bool input_grad = false;
  Recipe recipe;
  std::string meter;           // empty: the worker's default
  double target_error = 0.01;  // relative standard error to reach
  double window_s = 0.1;
  double warm_up_s = 0.1;
  double budget_s = 3.0;  // seconds of training this point may take
  int min_windows = 3;
  int min_ticks = kTicksPerWindow;  // of the counter that a window spans at least; fewer: a quick look
  // The window right after warm-up reads low, for power ramps; a long warm-up makes throwing it away
  // needless.
  bool discard_first = true;
};

// What one iteration of a network cost. Unmeasured is absent, never zero.
struct Measurement {
  std::optional<double> energy_j;  // per iteration
  double time_s = 0;               // per iteration
  double energy_error = 0;         // relative standard error
  double time_error = 0;
  std::optional<double> host_s;  // time the host takes to issue one iteration
  int windows = 0;
  int outliers = 0;
  std::int64_t iterations = 0;  // trained in all windows
  bool stable = false;          // the target error was met
  bool modelled = false;        // the energy comes from a model, not from a counter
  // Share of the windows' time that went into reading the meter, and how far its power reading, integrated,
  // is off its counter: (integrated - counted) / counted. Absent where it cannot be told.
  std::optional<double> metering_overhead;
  std::optional<double> discrepancy;
  std::string meter;
  std::string mode;                  // "eager" or "replay": what was really done
  std::string note;                  // anything a reader should know ("capture failed: ...")
  std::vector<std::string> kernels;  // that a replay ran, each once; empty where that cannot be told
  DeviceState before, after;         // of what is metered, around the windows
};

Json to_json(const Recipe& recipe);
Recipe recipe_from_json(const Json& json);
Json to_json(const MeasureRequest& request);
MeasureRequest measure_request_from_json(const Json& json);
Json to_json(const Measurement& measurement);
// Refuses what cannot be true: negative or non-finite figures.
Measurement measurement_from_json(const Json& json);

// A request line: {"id": 7, "verb": "measure", "params": {...}}.
struct Request {
  std::int64_t id = 0;
  std::string verb;
  Json params = Json::object();
};
Request request_from_line(const std::string& line);
std::string to_line(const Request& request);

// A response line: {"id": 7, "ok": true, "result": {...}} or {"id": 7, "ok": false, "error": {"kind",
// "message"}}.
std::string result_line(std::int64_t id, const Json& result);
std::string error_line(std::int64_t id, const Error& error);

// A response as the brain reads it: `result` is an object when `error` is empty.
struct Response {
  std::int64_t id = 0;
  Json result;
  std::optional<Error> error;
};
// Throws Error{kBadInput} for anything that is neither of the two lines above.
Response response_from_line(const std::string& line);

}  // namespace ampere
