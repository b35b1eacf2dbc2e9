#include "serve/push.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/json.h"

namespace ampere {
namespace {

constexpr int kPatienceS = 5;
constexpr std::size_t kMostAnswer = 64 << 10;

// A connection to the first address that takes one; -1: none does.
int connected_to(const PushAddress& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) continue;
    const timeval patience{kPatienceS, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) return fd;
    close(fd);
  }
  return -1;
}

std::string exchanged(int fd, const std::string& request) {
  std::size_t sent = 0;
  while (sent < request.size()) {
    const ssize_t n = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  std::string answer;
  char buffer[4096];
  ssize_t n = 0;
  while (answer.size() < kMostAnswer && (n = recv(fd, buffer, sizeof buffer, 0)) > 0)
    answer.append(buffer, static_cast<std::size_t>(n));
  return answer;
}

// "HTTP/1.1 200 OK" -> 200; 0 for what is none.
int status_of(const std::string& answer) {
  if (answer.rfind("HTTP/1.", 0) != 0 || answer.size() < 12) return 0;
  return static_cast<int>(std::strtol(answer.c_str() + 9, nullptr, 10));
}

std::string why_not(const std::string& answer) {
  const std::size_t body = answer.find("\r\n\r\n");
  const Json problem =
      body == std::string::npos ? Json() : Json::parse(answer.substr(body + 4), nullptr, false);
  if (problem.is_object() && problem.contains("detail") && problem["detail"].is_string())
    return problem["detail"];
  return answer.empty() ? "no answer" : answer.substr(0, answer.find("\r\n"));
}

}  // namespace

PushAddress push_address(const std::string& url) {
  const std::string scheme = "http://";
  const Error wrong = bad_input("--push must be http://HOST[:PORT][/PATH], found \"" + url + "\"");
  if (url.rfind(scheme, 0) != 0 || url.find_first_of(" \r\n\t@") != std::string::npos) throw Error(wrong);
  PushAddress a;
  const std::string rest = url.substr(scheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string place = rest.substr(0, slash);
  a.path = rest.substr(slash);
  while (!a.path.empty() && a.path.back() == '/') a.path.pop_back();
  const std::size_t colon = place.rfind(':');
  const bool bracketed = !place.empty() && place.front() == '[';
  const std::size_t closing = place.find(']');
  if (bracketed && closing == std::string::npos) throw Error(wrong);
  const bool has_port = colon != std::string::npos && (!bracketed || colon > closing);
  a.port = has_port ? place.substr(colon + 1) : "80";
  a.host = bracketed ? place.substr(1, closing - 1) : place.substr(0, has_port ? colon : place.size());
  if (a.host.empty() || a.port.empty() || a.port.find_first_not_of("0123456789") != std::string::npos)
    throw Error(wrong);
  return a;
}

void push(const PushTarget& target, const std::string& method, const std::string& path,
          const std::string& type, const std::string& body) {
  const PushAddress to = push_address(target.url);
  const int fd = connected_to(to);
  if (fd < 0) throw Error(ErrorKind::kFailed, target.url + ": cannot be reached; is the server running?");
  const bool six = to.host.find(':') != std::string::npos;
  std::string request = method + " " + to.path + path +
                        " HTTP/1.1\r\nHost: " + (six ? "[" + to.host + "]" : to.host) + ":" + to.port +
                        "\r\nConnection: close\r\nContent-Type: " + type +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!target.token.empty()) request += "Authorization: Bearer " + target.token + "\r\n";
  const std::string answer = exchanged(fd, request + "\r\n" + body);
  close(fd);
  const int status = status_of(answer);
  if (status < 200 || status > 299)
    throw Error(ErrorKind::kFailed, target.url + ": did not take the figures: " + why_not(answer));
}

}  // namespace ampere
