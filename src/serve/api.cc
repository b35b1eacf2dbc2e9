#include "serve/api.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/deadline.h"
#include "serve/access.h"
#include "serve/assets.h"
#include "serve/schema.h"
#include "serve/sha256.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> pattern_parts(const std::string& path) {
  return path_parts(path).value_or(std::vector<std::string>{});
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& parts,
             std::vector<std::string>* names) {
  if (pattern.size() != parts.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (pattern[i].front() == '{') {
      if (parts[i].empty()) return false;
      if (names) names->push_back(parts[i]);
    } else if (pattern[i] != parts[i]) {
      return false;
    }
  }
  return true;
}

// A page and its parts: nothing from elsewhere, no scripts in the page itself, no frames.
void put_page_headers(HttpResponse& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
      "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

HttpResponse page_response(const HttpRequest& request) {
  const auto parts = path_parts(request.target);
  const WebAsset* asset = nullptr;
  if (parts && parts->size() == 1 && (parts->front().empty() || parts->front() == "index.html"))
    asset = find_web_asset("index.html");
  else if (parts && parts->size() == 2 && parts->front() == "assets")
    asset = find_web_asset(parts->back());
  if (!asset) return problem_response(404, "not_found", "there is nothing here; the page is at /");
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = problem_response(405, "bad_input", "this can be read, and nothing else");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  HttpResponse response;
  response.route = parts->size() == 2 ? "/assets/{name}" : "/";
  Sha256 digest;
  digest.add(asset->bytes);
  const std::string tag = "\"" + digest.hex().substr(0, 32) + "\"";
  response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
  response.type = asset->type;
  put_page_headers(response);
  if (request.header("if-none-match") == tag)
    response.status = 304;
  else
    response.asset = asset->bytes;
  return response;
}

void check_query(const ApiRoute& route, const ApiCall& call) {
  for (const auto& [name, value] : call.query) {
    if (!route.query.contains(name))
      throw bad_input("there is no parameter \"" + name + "\" of " + route.path);
    require_schema(value, route.query[name], name);
  }
}

void check_type(const ApiRoute& route, const HttpRequest& request) {
  const std::string given = request.header("content-type");
  const std::string media = given.substr(0, given.find_first_of("; "));
  if (!request.header("content-encoding").empty())
    throw HttpError(415, "bad_input", "requests that are compressed are not read");
  // Pages of other sites can send neither without being asked about it first.
  const std::string wanted = route.file ? "application/octet-stream" : "application/json";
  if ((route.file || !route.body.is_null()) && media != wanted)
    throw HttpError(415, "bad_input", "the Content-Type must be " + wanted);
}

}  // namespace

Api::StateFolder::StateFolder(const ServeOptions& o) : path(o.state), ours(o.state.empty()) {
  if (ours) {
    std::string made = (fs::temp_directory_path() / "ampere-serve-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr)
      throw Error(ErrorKind::kFailed, made + ": cannot be made; name a folder with --state");
    path = made;
  }
  std::error_code error;
  for (const char* part : {"/networks", "/jobs"}) {
    fs::create_directories(path + part, error);
    if (error)
      throw Error(ErrorKind::kFailed,
                  path + part + ": cannot be made: " + error.message() + "; name another with --state");
  }
  fs::permissions(path, fs::perms::owner_all, error);
  lock = open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(lock);
    throw Error(ErrorKind::kBadInput,
                path + " is in use by another server; end that, or name another folder with --state");
  }
  for (const auto& entry : fs::directory_iterator(path + "/networks", error)) {
    const std::string name = entry.path().filename();  // what a killed server left half done
    if (name.rfind("incoming-", 0) == 0) fs::remove(entry.path(), error);
  }
}

Api::StateFolder::~StateFolder() {
  std::error_code gone;
  if (ours) fs::remove_all(path, gone);
  if (lock >= 0) close(lock);
}

Api::Api(const ServeOptions& options)
    : options_(options),
      state_(options_),
      networks_(state_.path + "/networks", options_),
      estimator_(options_.store, options_.refresh_s),
      jobs_(state_.path + "/jobs", options_) {}

Api::~Api() = default;

const ApiRoute* Api::route(const HttpRequest& request, std::string* allowed) {
  static const std::vector<std::vector<std::string>> patterns = [] {
    std::vector<std::vector<std::string>> all;
    for (const ApiRoute& route : api_routes()) all.push_back(pattern_parts(route.path));
    return all;
  }();
  const auto parts = path_parts(request.target);
  if (!parts) return nullptr;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const ApiRoute& route = api_routes()[i];
    if (!matches(patterns[i], *parts, nullptr)) continue;
    if (route.method == method) return &route;
    if (allowed) *allowed += (allowed->empty() ? "" : ", ") + route.method;
  }
  return nullptr;
}

HttpResponse Api::answered(const HttpRequest& request) {
  if (!path_parts(request.target) || !query_of(request.target))
    return problem_response(400, "bad_input", "the address cannot be read");
  std::string allowed;
  const ApiRoute* found = route(request, &allowed);
  if (!found && !allowed.empty()) {
    HttpResponse response = problem_response(405, "bad_input", "this takes " + allowed + " only");
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  if (!found) return page_response(request);
  if (found->changes && options_.read_only)
    return problem_response(403, "forbidden", "this server only reads: it was started with --read-only");
  ApiCall call{request, {}, *query_of(request.target), {}};
  matches(pattern_parts(found->path), *path_parts(request.target), &call.names);
  check_type(*found, request);
  check_query(*found, call);
  if (!found->body.is_null()) {
    call.body = parse_json(request.body, "request");
    require_schema(call.body, found->body, "request");
  }
  HttpResponse response = found->call(*this, call);
  if (response.status == 200) response.status = found->status;
  return response;
}

HttpResponse Api::answer(const HttpRequest& request) {
  HttpResponse response = [&] {
    try {
      const Deadline deadline(options_.limits.compute_s);
      return answered(request);
    } catch (const DeadlinePassed&) {
      char text[120];
      std::snprintf(
          text, sizeof text,
          "this takes more than %g s of a processor, which is this server's limit; ask for less at a time",
          options_.limits.compute_s);
      return problem_response(422, "limit", text);
    } catch (const HttpError& e) {
      return problem_response(e.status(), e.kind(), e.what());
    } catch (const Error& e) {
      return problem_response(e);
    } catch (const Json::exception&) {
      return problem_response(400, "bad_input", "a field is missing or of another type");
    } catch (const std::bad_alloc&) {
      return problem_response(503, "busy", "there is not enough memory for this at the moment");
    } catch (const std::exception& e) {
      return problem_response(500, "failed", e.what());
    }
  }();
  if (response.route.empty()) {
    const ApiRoute* known = route(request);
    response.route = known ? known->path : "other";  // what strangers make up becomes no series of its own
  }
  return response;
}

}  // namespace ampere
