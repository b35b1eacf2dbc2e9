// The files of src/serve/web, carried inside the program.
#pragma once

#include <string>
#include <string_view>

namespace ampere {

struct WebAsset {
  const char* name;  // "app.js"
  const char* type;  // of its contents
  std::string_view bytes;
};
// Null where there is none of that name.
const WebAsset* find_web_asset(const std::string& name);

}  // namespace ampere
