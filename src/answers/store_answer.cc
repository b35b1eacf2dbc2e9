#include "answers/store_answer.h"

#include "session/session.h"

namespace ampere {

Json store_json(const Store& store) {
  Json devices = Json::array();
  for (const StoredDevice& d : store.devices()) {
    int points = 0;
    const auto surfaces = store.surfaces(d.id);
    for (const SurfaceCount& s : surfaces) points += s.points;
    devices.push_back({{"id", d.id},
                       {"fingerprint", d.fingerprint},
                       {"last_used", d.last_used},
                       {"surfaces", surfaces.size()},
                       {"points", points}});
  }
  return {{"schema_version", kOutputSchemaVersion}, {"store", store.path()}, {"devices", devices}};
}

}  // namespace ampere
