#include "serve/http.h"

#include <cctype>

#include "base/plain_text.h"
#include "serve/api_words.h"

namespace ampere {
namespace {

// What a kind is called, and the status that it is told with.
struct KindOfProblem {
  const char* kind;
  int status;
  const char* title;
};
constexpr KindOfProblem kProblems[] = {
    {"failed", 500, "It failed"},
    {"bad_input", 400, "Something about the request is wrong"},
    {"no_meter", 409, "No usable energy meter"},
    {"over_budget", 422, "It does not fit the budget"},
    {"unstable", 409, "The measurement did not settle"},
    {"not_profiled", 422, "Not profiled yet"},
    {"worker", 502, "The worker failed"},
    {"out_of_memory", 422, "Too large for the device's memory"},
    {"forward_failed", 422, "The forward pass failed"},
    {"not_found", 404, "There is no such thing"},
    {"forbidden", 403, "Not allowed"},
    {"unauthorized", 401, "A token is needed"},
    {"too_large", 413, "Too large"},
    {"busy", 503, "Too much to do at the moment"},
    {"limit", 422, "Over a limit of this server"},
};

const KindOfProblem& problem_of(const std::string& kind) {
  for (const KindOfProblem& p : kProblems) {
    if (kind == p.kind) return p;
  }
  return kProblems[0];
}

Json problem(int status, const std::string& kind, const std::string& detail) {
  return {{"type", "urn:ampere:problem:" + kind},
          {"title", problem_of(kind).title},
          {"status", status},
          {"detail", plain_text(detail)},
          {"kind", kind}};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `plus`: stands for a space, as in forms.
std::optional<std::string> decoded(std::string_view text, bool plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_utf8(out)) return std::nullopt;
  for (const char c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
  }
  return out;
}

HttpResponse response_of(const Json& problem) {
  const int status = problem["status"];
  HttpResponse response = json_response(problem, status);
  response.type = "application/problem+json";
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

HttpResponse json_response(const Json& json, int status) {
  HttpResponse response;
  response.status = status;
  response.body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

HttpResponse problem_response(int status, const std::string& kind, const std::string& detail) {
  return response_of(problem(status, kind, detail));
}

HttpResponse problem_response(const Error& error) { return response_of(problem_json(error)); }

Json problem_json(const Error& error) {
  const std::string kind = to_word(error.kind());
  const ApiWords words = in_api_words(error.what());
  Json told = problem(problem_of(kind).status, kind, words.text);
  if (!words.fields.empty()) told["fields"] = words.fields;
  return told;
}

void take_whole_address(HttpRequest& request) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    std::string begins = request.target.substr(0, scheme.size());
    for (char& c : begins) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (begins != scheme) continue;
    const std::string rest = request.target.substr(scheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    request.headers["host"] = rest.substr(0, end);
    request.target = (rest.find('/') == end ? "" : "/") + rest.substr(end);
    return;
  }
}

std::optional<std::vector<std::string>> path_parts(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path.empty() || path.front() != '/') return std::nullopt;
  std::vector<std::string> parts;
  std::size_t start = 1;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const auto part = decoded(path.substr(start, end - start), false);
    if (!part || *part == ".." || *part == "." || part->find('/') != std::string::npos ||
        part->find('\\') != std::string::npos)
      return std::nullopt;
    parts.push_back(*part);
    start = end + 1;
  }
  return parts;
}

std::optional<std::vector<std::pair<std::string, std::string>>> query_of(std::string_view target) {
  std::vector<std::pair<std::string, std::string>> query;
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return query;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto name = decoded(one.substr(0, equals), true);
    const auto value = decoded(one.substr(std::min(equals + 1, one.size())), true);
    if (!name || !value) return std::nullopt;
    query.emplace_back(*name, *value);
  }
  return query;
}

}  // namespace ampere
