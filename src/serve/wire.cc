#include "serve/wire.h"

#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <thread>

namespace ampere {
namespace {

ServeOptions with_ending(ServeOptions o, const std::atomic<bool>& ending) {
  o.ending = &ending;
  return o;
}

}  // namespace

Wire::Wire(const ServeOptions& o, const ServeEvents& e)
    : events(e),
      api(with_ending(o, ending)),
      options(api.options()),
      computing(std::max(4u, std::thread::hardware_concurrency())),
      waiting(static_cast<std::size_t>(std::max(1, o.limits.children))) {}

HttpRequest request_of(const http::request_header<>& header) {
  HttpRequest request;
  request.method = std::string(header.method_string());
  request.target = std::string(header.target());
  for (const auto& field : header) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string& value = request.headers[name];
    value += (value.empty() ? "" : ", ") + std::string(field.value());
  }
  take_whole_address(request);
  return request;
}

void give_way() {
  constexpr int kNiceness = 5;
  thread_local bool done = false;
  if (!done && getpriority(PRIO_PROCESS, 0) < kNiceness) setpriority(PRIO_PROCESS, 0, kNiceness);
  done = true;
}

}  // namespace ampere
