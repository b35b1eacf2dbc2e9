// Networks as JSON files and messages. docs/network.schema.json is the published schema.
#pragma once

#include <string>

#include "base/json.h"
#include "network/network.h"

namespace ampere {

// Writes attributes that differ from the op's defaults only; reading gives the same network back.
Json network_to_json(const Network& network);

// `where` names the source in errors. Throws Error{kBadInput} that names the node and what was expected.
Network network_from_json(const Json& json, const std::string& where);

// One attribute's value. `where` and `key` name it in errors.
Json attr_to_json(const AttrValue& value);
AttrValue attr_from_json(const Json& value, const std::string& where, const std::string& key);

Network read_network_file(const std::string& path);

}  // namespace ampere
