// What `ampere store list --json` and the server's /store say.
#pragma once

#include "base/json.h"
#include "store/store.h"

namespace ampere {

// {"schema_version", "store", "devices": [{"id", "fingerprint", "last_used", "surfaces", "points"}]}
Json store_json(const Store& store);

}  // namespace ampere
