// The part of JSON Schema that the server's requests are described in, and checked by.
#pragma once

#include <string>

#include "base/json.h"

namespace ampere {

// Knows type, properties, required, additionalProperties: false or a schema, minProperties, maxProperties,
// enum, minimum, maximum, minLength, maxLength, items, minItems, maxItems; nothing else. Throws
// Error{kBadInput} that names the field.
void require_schema(const Json& value, const Json& schema, const std::string& where);

}  // namespace ampere
