// The page as one file that needs no server: a saved report.
#pragma once

#include <string>

#include "base/json.h"

namespace ampere {

// `kept` is what src/serve/web/frozen.js reads: {"title", "saved_at", "asked", "answers"}. All files of the
// page are in the result, nothing is loaded from anywhere, and what comes from files is never markup.
std::string frozen_page(const Json& kept);

// A module of the page and those that it imports, as one plain script. Throws Error{kFailed} for forms of
// import and export that it does not know.
std::string bundled(const std::string& entry);

}  // namespace ampere
