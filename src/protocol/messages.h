// The lines that ampere and a worker exchange, one JSON object each (docs/protocol.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace ampere {

// Raised when a message changes in a way that an older peer would misread.
inline constexpr int kProtocolVersion = 1;

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
// Throws Error{kBadInput} for anything that is neither of the two lines above. A long message loses its
// middle (base/capped.h); one that says nothing is told as such.
Response response_from_line(const std::string& line);

}  // namespace ampere
