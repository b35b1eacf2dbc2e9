// What all connections of a server share, and the HTTP library: only this file and those that include it
// (connection, doorkeeper, server.cc) know it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <set>

#include "serve/api.h"
#include "serve/server.h"

namespace ampere {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using WireClock = std::chrono::steady_clock;

class Connection;

struct Wire {
  Wire(const ServeOptions& options, const ServeEvents& events);

  const ServeEvents& events;
  std::atomic<bool> ending{false};
  Api api;
  const ServeOptions& options;
  std::atomic<int> queued{0}, queued_to_wait{0};
  int uploads = 0;
  int feeds = 0;
  std::set<Connection*> connections;  // touched by the one thread alone
  // After all that connections touch: those that are left end with it.
  asio::io_context io{1};
  asio::thread_pool computing;
  asio::thread_pool waiting;  // for processes
};

// A header as the server's own code sees it.
HttpRequest request_of(const http::request_header<>& header);

// This thread gives way to what is being measured: profiling runs at the usual priority. Linux has one for
// each thread, and those that it starts begin with it.
void give_way();

}  // namespace ampere
