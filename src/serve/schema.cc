#include "serve/schema.h"

#include <cmath>

#include "base/capped.h"
#include "base/error.h"

namespace ampere {
namespace {

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  // 8.0 is one, too, by JSON Schema; beyond 2^53 nobody can tell.
  if (type == "integer")
    return value.is_number_integer() || (value.is_number_float() && std::abs(value.get<double>()) < 9e15 &&
                                         std::floor(value.get<double>()) == value.get<double>());
  return value.is_number();
}

std::string type_text(const Json& type) {
  if (type.is_string()) return type;
  std::string text;
  for (const Json& one : type) text += (text.empty() ? "" : " or ") + one.get<std::string>();
  return text;
}

void require_type(const Json& value, const Json& type, const std::string& where) {
  bool good = false;
  if (type.is_string()) {
    good = is_of_type(value, type);
  } else {
    for (const Json& one : type) good = good || is_of_type(value, one);
  }
  if (!good) throw bad_input(where + " must be of type " + type_text(type));
}

void require_size(std::size_t size, const Json& schema, const char* least, const char* most,
                  const std::string& where, const char* of_what) {
  if (schema.contains(least) && size < schema[least].get<std::size_t>())
    throw bad_input(where + " must have at least " + schema[least].dump() + " " + of_what);
  if (schema.contains(most) && size > schema[most].get<std::size_t>())
    throw bad_input(where + " must have at most " + schema[most].dump() + " " + of_what);
}

void require_object(const Json& value, const Json& schema, const std::string& where) {
  require_size(value.size(), schema, "minProperties", "maxProperties", where, "fields");
  const Json known = schema.value("properties", Json::object());
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>()))
      throw bad_input(where + ": the field \"" + name.get<std::string>() + "\" is missing");
  }
  const Json others = schema.value("additionalProperties", Json(true));
  for (const auto& [name, field] : value.items()) {
    const std::string at = where + "." + capped(name, 100);
    if (known.contains(name)) {
      require_schema(field, known[name], at);
    } else if (others.is_object()) {
      require_schema(field, others, at);
    } else if (others == false) {
      std::string list;
      for (const auto& [one, unused] : known.items()) list += (list.empty() ? "" : ", ") + one;
      throw bad_input(where + ": there is no field \"" + capped(name, 100) + "\" (known: " + list + ")");
    }
  }
}

}  // namespace

void require_schema(const Json& value, const Json& schema, const std::string& where) {
  if (schema.contains("type")) require_type(value, schema["type"], where);
  if (value.is_null()) return;
  if (schema.contains("enum")) {
    bool known = false;
    std::string list;
    for (const Json& one : schema["enum"]) {
      known = known || one == value;
      list += (list.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.dump());
    }
    if (!known) throw bad_input(where + " must be one of " + list);
  }
  if (value.is_number()) {
    const double number = value;
    if (schema.contains("minimum") && !(number >= schema["minimum"].get<double>()))
      throw bad_input(where + " must be " + schema["minimum"].dump() + " or more");
    if (schema.contains("maximum") && !(number <= schema["maximum"].get<double>()))
      throw bad_input(where + " must be " + schema["maximum"].dump() + " or less");
  }
  if (value.is_string())
    require_size(value.get_ref<const std::string&>().size(), schema, "minLength", "maxLength", where,
                 "characters");
  if (value.is_array()) {
    require_size(value.size(), schema, "minItems", "maxItems", where, "items");
    for (std::size_t i = 0; schema.contains("items") && i < value.size(); ++i)
      require_schema(value[i], schema["items"], where + "[" + std::to_string(i) + "]");
  }
  if (value.is_object()) require_object(value, schema, where);
}

}  // namespace ampere
