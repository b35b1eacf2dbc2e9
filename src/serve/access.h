// Who may ask: the token, and requests that another site's page makes a browser send.
#pragma once

#include <optional>
#include <string>

#include "serve/http.h"
#include "serve/options.h"

namespace ampere {

// Why a request is refused before anybody looks at what it asks for; absent: it is not.
std::optional<HttpResponse> refused_access(const HttpRequest& request, const ServeOptions& options);

// Takes as long wherever the two differ.
bool same_secret(const std::string& given, const std::string& expected);

// Throws Error{kBadInput} for an address beyond this machine without a token, and for a token that is none.
void check_access(const ServeOptions& options);
bool is_loopback(const std::string& address);

}  // namespace ampere
