// One thread reads and writes all connections, so that thousands of idle or slow ones cost no threads; others
// compute.
#include "serve/server.h"

#include <sys/resource.h>

#include <boost/asio/signal_set.hpp>

#include "serve/access.h"
#include "serve/cores.h"
#include "serve/doorkeeper.h"

namespace ampere {
namespace {

// Files for so many connections, where that is allowed.
void allow_files(int connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(connections) + 256;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The first estimate of a device takes seconds, the second none: so somebody asks before the users do.
void warm_up(Wire& wire) {
  const auto quietly = [](const auto& work) {
    try {
      work();
    } catch (const std::exception&) {  // whoever asks is told
    }
  };
  quietly([&] {
    const auto known = wire.api.estimator().devices();  // others may be read while these are asked about
    for (const std::string& device : known->measured) {
      if (wire.ending) return;
      quietly([&] {
        const ServedNetworkPtr network = wire.api.networks().find({{"zoo", "lenet5"}}, {}, true);
        wire.api.estimator().answer(device, *network, {32, {}}, {});
      });
    }
  });
}

}  // namespace

void serve(const ServeOptions& options, const ServeEvents& events) {
  check_access(options);
  allow_files(options.limits.connections);
  Wire wire(options, events);
  Doorkeeper door(wire);
  asio::signal_set signals(wire.io, SIGTERM, SIGINT);
  asio::steady_timer grace(wire.io);
  const std::function<void(int)> wait_for_rest = [&](int tenths) {
    if (wire.connections.empty() || tenths == 0) return wire.io.stop();
    grace.expires_after(std::chrono::milliseconds(100));
    grace.async_wait([&, tenths](const boost::system::error_code&) { wait_for_rest(tenths - 1); });
  };
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    wire.ending = true;
    wire.api.jobs().end();
    door.end();
    wait_for_rest(100);
  });
  give_way();
  keep_to(options.cores);
  door.accept();
  asio::post(wire.waiting, [&] {
    give_way();
    warm_up(wire);
  });
  if (events.ready) events.ready(door.port());
  wire.io.run();
  wire.computing.join();
  wire.waiting.join();
}

HttpResponse answer_bytes(Api& api, std::string_view bytes) {
  const ServeLimits& limits = api.options().limits;
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser.body_limit(limits.body_bytes);
  parser.eager(true);
  boost::system::error_code error;
  std::size_t used = 0;
  while (!error && used < bytes.size() && !parser.is_done())
    used += parser.put(asio::buffer(bytes.data() + used, bytes.size() - used), error);
  if (!error && parser.got_some()) parser.put_eof(error);
  if (error || !parser.is_header_done()) return problem_response(400, "bad_input", "this is no HTTP request");
  HttpRequest request = request_of(parser.get().base());
  if (auto refused = refused_access(request, api.options())) return std::move(*refused);
  request.body = std::move(parser.get().body());
  return api.answer(request);
}

}  // namespace ampere
