// Requests and responses as the server's own code sees them; src/serve/wire.h has the HTTP library.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace ampere {

struct HttpRequest {
  std::string method;
  std::string target;                          // as it was sent: path and query
  std::map<std::string, std::string> headers;  // by lower-case name; one that came twice: joined with ", "
  std::string body;
  std::string file;  // that the body was put into instead, where the route says so
  // Thrown away and asked again on a thread that may wait, where it would have to: see MustWait.
  bool may_wait = true;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// Thrown by what would have to wait for a process of its own, where the request may not.
struct MustWait {};

// What a response goes on with after its headers. Called now and then: what is to be sent next, which may be
// nothing; absent: it has ended.
using EventFeed = std::function<std::optional<std::string>()>;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::string_view asset = {};  // instead of a body: what lives as long as the program
  std::vector<std::pair<std::string, std::string>> headers = {};
  EventFeed events = {};   // instead of a body
  std::string route = {};  // which one answered, for logs and figures: "/api/v1/jobs/{id}"
};

// RFC 9457. `kind` is a word of ErrorKind, or one of the server's own: "not_found", "forbidden", ... An Error
// is told in the API's words (api_words.h), with the fields of requests that it is about as "fields".
HttpResponse problem_response(int status, const std::string& kind, const std::string& detail);
HttpResponse problem_response(const Error& error);
// The same object, as a part of an answer.
Json problem_json(const Error& error);
HttpResponse json_response(const Json& json, int status = 200);

// A failure that has a status of its own.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, std::string kind, const std::string& detail)
      : std::runtime_error(detail), status_(status), kind_(std::move(kind)) {}
  int status() const { return status_; }
  const std::string& kind() const { return kind_; }

 private:
  int status_;
  std::string kind_;
};

// A target that is a whole address, as programs behind proxies send it ("http://HOST/PATH"), becomes its
// path, and its host the header's, whatever that was (RFC 9112, 3.2.2).
void take_whole_address(HttpRequest& request);

// The path of a target in parts, each decoded; absent where it is no path that this server could have (not
// UTF-8, control characters, "..", an encoded slash).
std::optional<std::vector<std::string>> path_parts(std::string_view target);
// The query of a target, decoded, in order; absent where it cannot be read.
std::optional<std::vector<std::pair<std::string, std::string>>> query_of(std::string_view target);

}  // namespace ampere
