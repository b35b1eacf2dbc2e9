// The server itself: connections, limits and threads. Behind it stands the HTTP library.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "serve/http.h"
#include "serve/options.h"

namespace ampere {

class Api;

struct ServeEvents {
  std::function<void(int port)> ready = {};                  // connections are taken from now on
  std::function<void(const std::string& line)> access = {};  // one line for each request
};

// Serves until SIGTERM or SIGINT comes, then finishes what was asked, stops what runs in the background and
// returns. Throws Error{kBadInput} for options that make no sense or an address that cannot be had.
void serve(const ServeOptions& options, const ServeEvents& events = {});

// What a server would answer to these bytes, as if they came on a connection. For tests: what cannot be read
// as a request is answered with 400.
HttpResponse answer_bytes(Api& api, std::string_view bytes);

}  // namespace ampere
