// A worker that misbehaves on demand: fake_worker MODE. Where it behaves, it answers with the cost of an
// imaginary device that is exactly additive.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include "measure/measurement.h"
#include "measure/request.h"
#include "network/cost.h"
#include "protocol/messages.h"

namespace ampere {
namespace {

void say(const std::string& line) { std::cout << line << std::endl; }

Json measured(const MeasureRequest& request) {
  const Cost cost = network_cost(request.network, request.batch);
  Measurement m;
  m.energy_j = 1e-9 * cost.flops() + 1e-10 * cost.bytes();
  m.time_s = 1e-10 * cost.flops() + 1e-11 * cost.bytes();
  m.windows = 3;
  m.iterations = 30;
  m.stable = true;
  m.meter = "fake";
  m.mode = request.mode == MeasureMode::kReplay ? "replay" : "eager";
  return to_json(m);
}

Json answer(const Request& request) {
  if (request.verb == "hello") return {{"protocol", kProtocolVersion}, {"worker", "fake"}};
  if (request.verb == "idle") return {{"power_w", 5.0}, {"meter", "fake"}, {"modelled", false}};
  if (request.verb == "measure") return measured(measure_request_from_json(request.params));
  return Json::object();
}

// What happens instead of the right answer to anything but hello.
void misbehave(const std::string& mode, std::int64_t id) {
  if (mode == "dies") {
    std::cerr << "first words\nthe device is on fire" << std::endl;
    std::exit(3);
  }
  if (mode == "killed") std::raise(SIGKILL);
  if (mode == "hangs") {
    for (;;) pause();
  }
  if (mode == "chatters") {
    for (;;) std::cerr << "still thinking\n" << std::flush;
  }
  if (mode == "garbage") say("Loading libraries... done");
  if (mode == "list") say("[1, 2]");
  if (mode == "no-result") say("{\"id\": " + std::to_string(id) + ", \"ok\": true}");
  if (mode == "no-figures") say(result_line(id, {{"meter", "fake"}}));
  if (mode == "negative") say(result_line(id, {{"energy_j", -1.0}, {"time_s", 0.1}}));
  if (mode == "wrong-id") say(result_line(id + 100, Json::object()));
  if (mode == "error") say(error_line(id, Error(ErrorKind::kOutOfMemory, "does not fit")));
  if (mode == "closes") {
    std::fclose(stdout);
    for (;;) pause();
  }
  if (mode == "huge") {
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 66; ++i) std::cout << piece;
    std::cout << std::endl;
  }
}

int run(const std::string& mode) {
  if (mode == "dies-at-start") {
    std::cerr << "no device" << std::endl;
    return 7;
  }
  std::string line;
  bool failing = mode != "ok" && mode != "slow" && mode != "noisy";
  while (std::getline(std::cin, line)) {
    const Request request = request_from_line(line);
    if (request.verb == "hello" && (mode == "newer" || mode == "older")) {
      say(result_line(request.id, {{"protocol", mode == "newer" ? kProtocolVersion + 1 : 0}}));
      continue;
    }
    if (request.verb == "hello" && mode == "refuses") {
      say(error_line(request.id, Error(ErrorKind::kFailed, "no licence")));
      continue;
    }
    if (failing && request.verb != "hello") {
      misbehave(mode, request.id);
      if (mode == "error") failing = false;
      continue;
    }
    if (mode == "noisy") std::cerr << std::string(1 << 20, 'n') << std::endl;
    if (mode == "slow") usleep(100 * 1000);
    say(result_line(request.id, answer(request)));
  }
  return 0;
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) { return ampere::run(argc > 1 ? argv[1] : "ok"); }
