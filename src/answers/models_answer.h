// What `ampere models --json` and the server's /models say: the networks known by name.
#pragma once

#include "base/json.h"

namespace ampere {

Json zoo_json();

}  // namespace ampere
