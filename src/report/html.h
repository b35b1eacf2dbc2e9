// What a page that carries everything in one file is made of. What comes from files is never markup.
#pragma once

#include <string>

#include "base/json.h"

namespace ampere {

// Text between tags.
std::string html_text(const std::string& text);

// JSON inside a page's script of type application/json.
std::string script_data(const Json& data);

// Which scripts of a page may run. Nobody who wrote a name in a result could know it.
std::string page_nonce();

}  // namespace ampere
