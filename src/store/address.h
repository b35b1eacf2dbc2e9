// Where a store is: the path of a file, or the address of a PostgreSQL server.
#pragma once

#include <string>

namespace ampere {

// postgresql://..., postgres://... or service=...
bool is_server(const std::string& address);

// The address without what is secret in it, to print. Paths stay as they are.
std::string printable_address(const std::string& address);

// `text`, which may quote the address, without what is secret.
std::string without_secrets(std::string text, const std::string& address);

// The address with limits for servers and networks that do not answer, where it has none of its own.
std::string with_limits(const std::string& address);

// Where points wait that cannot be delivered to the server which `place` names. Throws Error{kFailed} where
// neither HOME nor XDG_DATA_HOME tells.
std::string aside_path(const std::string& place);

}  // namespace ampere
