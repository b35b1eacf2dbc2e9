// ampere serve: the same answers over HTTP, for programs and for people with a browser.
#include <cstdio>
#include <fstream>
#include <memory>

#include "common.h"
#include "meter/cpu_cores.h"
#include "metrics_options.h"
#include "serve/cores.h"
#include "serve/server.h"
#include "store/address.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct ServeArguments {
  CommonOptions common;
  ServeOptions serve;
  std::string token_file;
  std::string access_log;
  std::string cores;
  std::int64_t upload_mib = 512;
  std::int64_t body_kib = 1024;
  std::int64_t memory_mib = 8192;
};

// Beside the store, so that both are moved and removed together.
std::string usual_state(const ServeArguments& o) {
  if (o.serve.read_only) return "";
  return is_server(o.common.store) ? data_folder() + "/serve" : o.common.store + ".serve";
}

void run(ServeArguments o) {
  ServeOptions& s = o.serve;
  s.store = o.common.store;
  s.worker = s.read_only ? "" : o.common.worker;
  s.meter = o.common.meter;
  s.program = "/proc/self/exe";
  if (!o.token_file.empty()) s.token = token_in(o.token_file);
  if (!o.cores.empty()) s.cores = cores_in(o.cores, allowed_cores());
  if (s.state.empty()) s.state = usual_state(o);
  s.limits.upload_bytes = static_cast<std::uint64_t>(o.upload_mib) << 20;
  s.limits.body_bytes = static_cast<std::uint64_t>(o.body_kib) << 10;
  s.limits.child_bytes = static_cast<std::uint64_t>(o.memory_mib) << 20;
  std::ofstream file;
  if (!o.access_log.empty()) {
    file.open(o.access_log, std::ios::app);
    if (!file) throw bad_input(o.access_log + ": cannot be written");
  }
  ServeEvents events;
  events.ready = [&](int port) {
    const bool six = s.bind.find(':') != std::string::npos;
    warn(fmt::format("serving on http://{}:{}/{}", six ? "[" + s.bind + "]" : s.bind, port,
                     s.read_only ? ", read-only" : ""));
  };
  if (file.is_open())
    events.access = [&](const std::string& line) { file << line << std::endl; };
  else if (!o.common.quiet)
    events.access = [](const std::string& line) { std::fputs((line + "\n").c_str(), stderr); };
  serve(s, events);
}

}  // namespace

void add_serve(CLI::App& app) {
  auto o = std::make_shared<ServeArguments>();
  CLI::App* verb = app.add_subcommand("serve", "A page to look at, and the same answers over HTTP");
  ServeOptions& s = o->serve;
  ServeLimits& l = s.limits;
  verb->add_option("--port", s.port, "Where it listens; 0: any free one [8080]")->check(CLI::Range(0, 65535));
  verb->add_option("--bind", s.bind, "Address that it listens on [127.0.0.1]; others take a token");
  verb->add_option("--host", s.hosts, "A name that it is also reached by")->allow_extra_args(false);
  CLI::Option* token = verb->add_option("--token", s.token, "What whoever asks must know");
  verb->add_option("--token-file", o->token_file, "The file whose first line it is")->excludes(token);
  verb->add_flag("--read-only", s.read_only, "Nothing is profiled and nothing kept");
  verb->add_option("--state", s.state, "Folder of files that were sent, and of jobs [beside the store]");
  verb->add_option("--cores", o->cores, "That answer, as 0-3; jobs take any [half while one measures]");
  verb->add_option("--access-log", o->access_log, "File that requests are told in [standard error]");
  verb->add_option("--most-connections", l.connections, "At a time [1024]")->check(CLI::Range(1, 100000));
  verb->add_option("--most-upload", o->upload_mib, "MiB of a network file [512]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  verb->add_option("--most-body", o->body_kib, "KiB of any other request [1024]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}));
  verb->add_option("--most-memory", o->memory_mib, "MiB of a process that reads files or searches [8192]")
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 24));
  verb->add_option("--most-seconds", l.child_s, "Seconds of such a process [120]")
      ->check(CLI::Range(0.1, 86400.0));
  verb->add_option("--compute-seconds", l.compute_s, "Seconds of a processor for any other request [20]")
      ->check(CLI::Range(0.001, 86400.0));
  verb->add_option("--request-seconds", l.request_s, "To send a request, or take its answer [60]")
      ->check(CLI::Range(0.1, 3600.0));
  verb->add_option("--header-seconds", l.header_s, "Of which for its headers [10]")
      ->check(CLI::Range(0.1, 3600.0));
  verb->add_option("--refresh", s.refresh_s, "Seconds until new points of the store count [10]")
      ->check(CLI::Range(0.0, 3600.0));
  add_worker_options(*verb, o->common);
  add_store_options(*verb, o->common);
  verb->add_flag("-q,--quiet", o->common.quiet, "No requests on standard error");
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
