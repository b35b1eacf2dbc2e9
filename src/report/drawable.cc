#include "report/drawable.h"

#include "base/plain_text.h"

namespace ampere {

Json drawable(const Json& data) {
  if (data.is_string()) return xml_characters(data.get_ref<const std::string&>());
  if (data.is_array()) {
    Json out = Json::array();
    for (const Json& one : data) out.push_back(drawable(one));
    return out;
  }
  if (!data.is_object()) return data;
  Json out = Json::object();
  for (const auto& [key, value] : data.items()) {
    // Two names may look the same afterwards; both are shown.
    std::string name = xml_characters(key);
    while (out.contains(name)) name += "'";
    out[name] = drawable(value);
  }
  return out;
}

}  // namespace ampere
