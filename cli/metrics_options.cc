#include "metrics_options.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "common.h"
#include "serve/metrics.h"
#include "serve/push.h"

namespace ampere {
namespace {

// In the form that node exporters read from files and push gateways take.
std::string metrics_text(const std::string& job, const Json& figures) {
  MetricsText out;
  const MetricsText::Labels labels = {{"job_name", job},
                                      {"meter", figures.value("meter", "")},
                                      {"modelled", figures.value("modelled", false) ? "true" : "false"}};
  const auto gauge = [&](const char* name, const char* help, const Json& from, const char* field) {
    if (!from.contains(field) || !from[field].is_number()) return;
    out.family(name, "gauge", help);
    out.sample(labels, from[field]);
  };
  gauge("ampere_measured_joules", "Energy that was measured", figures, "energy_j");
  gauge("ampere_measured_seconds", "Time that it took", figures, "time_s");
  gauge("ampere_measured_watts", "Mean power", figures, "power_w");
  if (figures.contains("predicted")) {
    gauge("ampere_predicted_joules", "Energy as it was estimated before", figures["predicted"], "energy_j");
    gauge("ampere_predicted_seconds", "Time as it was estimated before", figures["predicted"], "time_s");
  }
  return out.text();
}

bool is_push_gateway(const std::string& url) { return url.find("/metrics/job/") != std::string::npos; }

}  // namespace

void add_metrics_options(CLI::App& verb, MetricsOptions& o) {
  verb.add_option("--metrics-file", o.file, "Write what was measured for Prometheus (node exporter, *.prom)");
  verb.add_option("--push", o.push, "Send it to an ampere serve (http://HOST:8080) or a Pushgateway");
  verb.add_option("--token-file", o.token_file, "With --push: the file whose first line is its token");
  verb.add_option("--job", o.job, "What it is called there; as the network or the program unless given");
}

std::string token_in(const std::string& path) {
  constexpr std::size_t kMost = 4096;  // a device such as /dev/zero would give any number
  std::string token(kMost, '\0');
  std::ifstream file(path);
  file.read(token.data(), kMost);
  token.resize(static_cast<std::size_t>(file.gcount()));
  if (token.empty()) throw bad_input(path + ": no token can be read from it");
  const std::size_t line = token.find('\n');
  if (line == std::string::npos && token.size() == kMost)
    throw bad_input(path + ": its first line is longer than any token; name the file that the token is in");
  token.resize(std::min(line, token.size()));
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty()) throw bad_input(path + ": its first line is empty, and should be the token");
  return token;
}

void check(const MetricsOptions& o) {
  if (!o.file.empty()) require_writable(o.file);
  if (!o.push.empty()) push_address(o.push);
  if (!o.token_file.empty()) token_in(o.token_file);
}

void tell_metrics(const MetricsOptions& o, const std::string& what, const Json& figures) {
  const std::string job = o.job.empty() ? what : o.job;
  const std::string text = metrics_text(job, figures);
  if (!o.file.empty()) write_file(o.file, text);
  if (o.push.empty()) return;
  try {
    const PushTarget to{o.push, o.token_file.empty() ? "" : token_in(o.token_file)};
    if (is_push_gateway(o.push)) return push(to, "PUT", "", "text/plain; version=0.0.4", text);
    if (!figures.contains("energy_j") || !figures["energy_j"].is_number()) return;
    Json body = {{"job", job}, {"energy_j", figures["energy_j"]}};
    if (figures.contains("predicted")) body["predicted"] = figures["predicted"];
    push(to, "POST", "/api/v1/measured", "application/json",
         body.dump(-1, ' ', false, Json::error_handler_t::replace));
  } catch (const Error& e) {
    warn(e.what());
  }
}

}  // namespace ampere
