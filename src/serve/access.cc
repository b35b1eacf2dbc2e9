#include "serve/access.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "serve/sha256.h"

namespace ampere {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Nothing, or ":8080".
bool is_port(const std::string& text) {
  return text.empty() || (text.front() == ':' && text.size() <= 6 &&
                          text.find_first_not_of("0123456789", 1) == std::string::npos);
}

// "localhost:8080" -> "localhost", "[::1]:8080" -> "::1"; nothing where it is no host, such as two of them.
std::string without_port(const std::string& host) {
  const bool bracketed = !host.empty() && host.front() == '[';
  const std::size_t end = std::min(host.find(bracketed ? ']' : ':'), host.size());
  if (bracketed && end == host.size()) return "";
  if (!is_port(host.substr(bracketed ? end + 1 : end))) return "";
  return bracketed ? host.substr(1, end - 1) : host.substr(0, end);
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// A page of another site may have its name lead to this machine (DNS rebinding), and its scripts would then
// count as ours. Names that are ours are known; an address is nobody's to bend.
bool is_our_host(const std::string& host, const ServeOptions& o) {
  const std::string name = lower_case(without_port(host));
  if (name.empty()) return false;
  if (name == "localhost" || is_loopback(name)) return true;
  for (const std::string& known : o.hosts) {
    if (name == lower_case(known)) return true;
  }
  if (is_loopback(o.bind)) return false;
  char ours[256] = {};
  gethostname(ours, sizeof ours - 1);
  return name == lower_case(ours) || is_address(name);
}

bool is_our_origin(const std::string& origin, const std::string& host) {
  for (const char* scheme : {"http://", "https://"}) {
    if (lower_case(origin) == scheme + lower_case(host)) return true;
  }
  return false;
}

// The page and its files, which whoever may not ask can load. By the parts that requests are told apart by:
// "/%61pi" is "/api".
bool is_page(const std::string& target) {
  const auto parts = path_parts(target);
  if (!parts) return false;
  const bool index = parts->size() == 1 && (parts->front().empty() || parts->front() == "index.html");
  return index || (parts->size() == 2 && parts->front() == "assets");
}

}  // namespace

bool is_loopback(const std::string& address) {
  return address == "::1" || (address.rfind("127.", 0) == 0 && is_address(address));
}

bool same_secret(const std::string& given, const std::string& expected) {
  // Digests are of one length, and say nothing of how far the two agree.
  Sha256 a, b;
  a.add(given);
  b.add(expected);
  const std::string x = a.hex(), y = b.hex();
  unsigned char different = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    different = static_cast<unsigned char>(different | (x[i] ^ y[i]));
  return different == 0;
}

void check_access(const ServeOptions& o) {
  const auto visible = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::all_of(o.token.begin(), o.token.end(), visible))
    throw bad_input("the token must be of visible ASCII characters: it goes into a header");
  if (!o.token.empty() && o.token.size() < 8)
    throw bad_input("the token must have at least 8 characters, such as those of: openssl rand -hex 16");
  if (!is_address(o.bind))
    throw bad_input("--bind must be an address, such as 127.0.0.1 or 0.0.0.0, found \"" + o.bind + "\"");
  if (!is_loopback(o.bind) && o.token.empty())
    throw bad_input("--bind " + o.bind +
                    " lets other machines in, which takes a token: --token-file FILE or --token TOKEN");
}

std::optional<HttpResponse> refused_access(const HttpRequest& request, const ServeOptions& o) {
  const std::string host = request.header("host");
  if (!is_our_host(host, o))
    return problem_response(
        403, "forbidden",
        "this server is not called \"" + host.substr(0, 200) + "\"; start it with --host NAME if it is");
  const std::string origin = request.header("origin");
  if (!origin.empty() && !is_our_origin(origin, host))
    return problem_response(403, "forbidden", "requests of other sites' pages are not answered");
  if (is_page(request.target)) return std::nullopt;
  const std::string site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none")
    return problem_response(403, "forbidden", "requests of other sites' pages are not answered");
  if (o.token.empty()) return std::nullopt;
  const std::string given = request.header("authorization");
  const std::string scheme = "bearer ";
  if (lower_case(given.substr(0, scheme.size())) != scheme ||
      !same_secret(given.substr(std::min(scheme.size(), given.size())), o.token))
    return problem_response(401, "unauthorized",
                            "this server wants a token, in a header: Authorization: Bearer TOKEN");
  return std::nullopt;
}

}  // namespace ampere
