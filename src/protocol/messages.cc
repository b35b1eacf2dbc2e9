#include "protocol/messages.h"

#include "base/capped.h"

namespace ampere {

Request request_from_line(const std::string& line) {
  const Json json = parse_json(line, "request");
  JsonReader r(json, "request");
  r.only({"id", "verb", "params"});
  Request request{r.integer("id"), r.text("verb"), Json::object()};
  if (r.has("params")) request.params = r.object("params");
  return request;
}

namespace {

// Replaces bytes that are not UTF-8 instead of throwing: an error message may quote anything.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_line(const Request& request) {
  return line_of({{"id", request.id}, {"verb", request.verb}, {"params", request.params}});
}

std::string result_line(std::int64_t id, const Json& result) {
  return line_of({{"id", id}, {"ok", true}, {"result", result}});
}

std::string error_line(std::int64_t id, const Error& error) {
  return line_of(
      {{"id", id}, {"ok", false}, {"error", {{"kind", to_word(error.kind())}, {"message", error.what()}}}});
}

Response response_from_line(const std::string& line) {
  const Json json = parse_json(line, "response");
  JsonReader r(json, "response");
  Response response{r.integer("id"), Json::object(), std::nullopt};
  if (r.boolean("ok")) {
    response.result = r.object("result");
  } else {
    const JsonReader error(r.object("error"), "error");
    const std::string message = error.text("message");
    const bool silent = message.find_first_not_of(" \t\r\n") == std::string::npos;
    response.error = Error(error_kind_from_word(error.text("kind")),
                           silent ? "it failed without saying why; run it by hand to see" : capped(message));
  }
  return response;
}

}  // namespace ampere
