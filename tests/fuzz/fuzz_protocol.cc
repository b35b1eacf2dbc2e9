// Lines between ampere and a worker: read as each message they may be, and answered by a worker to the
// client.
#include <signal.h>

#include <filesystem>

#include "measure/measure.h"
#include "mutate.h"
#include "protocol/messages.h"
#include "protocol/process.h"
#include "protocol/trace_request.h"
#include "session/session.h"
#include "store_for_fuzz.h"

namespace ampere::fuzz {
namespace {

Json device() {
  return {{"name", "imaginary"},  {"type", "cuda"}, {"cores", 1},        {"driver", "1.2"},
          {"framework", "none"},  {"blas", ""},     {"allocator", "on"}, {"threads", 1},
          {"memory_bytes", 1e10}, {"unit", "u1"}};
}

MeasureRequest request() {
  MeasureRequest r;
  r.network = small_network();
  r.batch = kStoreBatch;
  r.meter = "imaginary";
  return r;
}

std::vector<std::string> seed_lines() {
  Measurement m = SyntheticDevice()(request());
  m.host_s = 1e-4;
  m.metering_overhead = 0.01;
  m.discrepancy = -0.02;
  m.kernels = {"gemm", "relu"};
  m.note = "capture failed";
  TraceRequest trace;
  trace.path = "/net.pt";
  trace.inputs = {{{3, 32, 32}, false, 0}, {{9}, true, 1}};
  const Json meter = {{"name", "imaginary"}, {"scope", "device"}, {"modelled", true},
                      {"available", true},   {"why", ""},         {"tick_s", 0.1}};
  std::vector<std::string> seeds = {
      result_line(2, to_json(m)),
      result_line(2, to_json(m)),
      result_line(2, {{"device", device()}, {"meters", {meter}}, {"default_meter", "imaginary"}}),
      result_line(1, {{"protocol", kProtocolVersion}, {"worker", "w"}, {"version", "1"}}),
      result_line(2, {{"power_w", 1.5}, {"seconds", 1}, {"meter", "imaginary"}, {"modelled", true}}),
      error_line(2, Error(ErrorKind::kOutOfMemory, "too large")),
      error_line(2, bad_input("unknown verb \"trace\"")),
      to_line({2, "measure", to_json(request())}),
      to_line({2, "trace", to_json(trace)})};
  const auto passes = test_data("passes", ".json", 4000);
  for (const std::string& pass : passes) seeds.push_back(result_line(2, Json::parse(pass)));
  return seeds;
}

bool read_as_messages(const std::string& line) {
  bool any = takes([&] {
    const Request r = request_from_line(line);
    if (to_line(request_from_line(to_line(r))) != to_line(r)) throw Wrong{"another request when read again"};
    takes([&] { measure_request_from_json(r.params); });
    takes([&] { trace_request_from_json(r.params); });
  });
  any = takes([&] {
          const Response r = response_from_line(line);
          if (r.error) return;
          takes([&] {
            const Measurement m = measurement_from_json(r.result);
            if (to_json(measurement_from_json(to_json(m))) != to_json(m))
              throw Wrong{"another measurement when read again"};
          });
          takes([&] { recorded_pass_from_json(r.result); });
        }) ||
        any;
  return any;
}

// A worker that says hello, unless it is spoiled itself, and then the line.
bool read_by_client(const std::string& line, const std::string& said, const std::string& store) {
  const bool greets = line.find("\"protocol\"") == std::string::npos;
  const std::string hello = greets ? result_line(1, {{"protocol", kProtocolVersion}}) + "\n" : "";
  write_bytes(said, hello + line + "\n");
  const std::string command = "exec cat " + shell_quoted(said);
  if (line.find("\"default_meter\"") != std::string::npos) {
    return takes([&] {
      const Session session = open_session({store, command, ""});
      remember_unit(session);
      session.profiling_mode();
      json_header(session.fingerprint, false);
      latest_device(*session.store);
      if (session.store->devices().empty()) throw Wrong{"a device that was kept is not there"};
    });
  }
  WorkerOptions options;
  options.command = command;
  options.hello_seconds = options.reply_seconds = options.measure_margin = options.trace_seconds = 20;
  WorkerClient client(options);
  return takes([&] {
    if (line.find("\"tensors\"") != std::string::npos) {
      client.trace({"/net.pt", {{{3}, false, 0}}, 2, 20});
    } else if (line.find("\"power_w\"") != std::string::npos) {
      client.idle(0.01, "imaginary");
    } else {
      measure_as_asked([&](const MeasureRequest& r) { return client.measure(r); }, request());
    }
  });
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  signal(SIGPIPE, SIG_IGN);
  const std::string said = fuzz::scratch_path("said"), store = fuzz::scratch_path("protocol-store");
  const std::vector<std::string> seeds = fuzz::seed_lines();
  const int status = fuzz::fuzz_main(
      argc, argv,
      {"protocol", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_json(random, seeds); },
       [&](const std::string& input) {
         std::filesystem::remove(store);
         const bool read = fuzz::read_as_messages(input);
         return fuzz::read_by_client(input, said, store) || read;
       }});
  std::filesystem::remove(said);
  std::filesystem::remove(store);
  return status;
}
