// Sending figures to a server: one request, and whether it was taken.
#pragma once

#include <string>

namespace ampere {

struct PushTarget {
  std::string url;    // http://HOST[:PORT][/PATH]
  std::string token;  // empty: none
};

// Throws Error{kBadInput} for what is no such address, and Error{kFailed} in the server's words where it does
// not take it. Waits at most a few seconds.
void push(const PushTarget& target, const std::string& method, const std::string& path,
          const std::string& type, const std::string& body);

// The parts of an address; throws Error{kBadInput}.
struct PushAddress {
  std::string host, port, path;
};
PushAddress push_address(const std::string& url);

}  // namespace ampere
