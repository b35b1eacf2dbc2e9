#include "store/exchange.h"

#include <set>
#include <tuple>

#include "base/capped.h"
#include "base/digest.h"
#include "base/error.h"
#include "layers/kind_json.h"
#include "store/database.h"
#include "store/plausible.h"

namespace ampere {
namespace {

constexpr std::size_t kLongestOrigin = 2000;
constexpr int kMostTries = 20;  // where others write the same

Json surface_to_json(const StoredSurface& s) {
  return {{"name", s.name},          {"purpose", to_word(s.purpose)}, {"method", s.method},
          {"role", to_word(s.role)}, {"phase", to_word(s.phase)},     {"details", details_to_json(s)}};
}

StoredSurface surface_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  StoredSurface s;
  s.name = r.text("name");
  if (s.name.empty() || s.name.size() > 2000)
    throw bad_input(where + ": a surface's name has 1 to 2000 characters");
  s.purpose = purpose_from_word(r.text("purpose"));
  s.method = r.text("method");
  s.role = role_from_word(r.text("role"));
  s.phase = phase_from_word(r.text("phase"));
  read_details(r.object("details"), where + ": " + s.name, s);
  return s;
}

Json point_to_json(const StoredPoint& p) {
  return {{"channels", {{"in", p.channels.in}, {"out", p.channels.out}}},
          {"variant", parse_json(p.variant, "variant")},
          {"measurement", to_json(p.measurement)},
          {"measured_at", p.measured_at},
          {"origin", p.origin},
          {"identity", p.identity}};
}

StoredPoint point_from_json(const Json& json, const std::string& where) {
  const JsonReader r(json, where);
  const JsonReader channels(r.object("channels"), where);
  StoredPoint p;
  p.channels = {channels.integer("in"), channels.integer("out")};
  require_channels(p.channels);
  p.variant = r.object("variant").dump();
  p.measurement = measurement_from_json(r.object("measurement"));
  p.measured_at = r.text("measured_at");
  p.origin = r.text("origin", "");
  p.identity = r.text("identity", "");
  if (p.identity.size() > 64) throw bad_input(where + ": an identity is too long");
  if (p.measured_at.size() > 40 || p.origin.size() > kLongestOrigin)
    throw bad_input(where + ": a date or origin is too long");
  return p;
}

// Two records of one measurement are equal in all of this.
using Identity = std::tuple<Channels, std::string, std::string>;
Identity identity_of(const StoredPoint& p) {
  return {p.channels, p.measured_at, to_json(p.measurement).dump()};
}

void import_surface(Store& store, const std::string& device, const std::string& recipe, const Json& json,
                    const std::string& origin, const std::string& where, ImportSummary& summary) {
  const StoredSurface surface = surface_from_json(json, where);
  std::set<Identity> known;
  std::set<std::string> ids;
  int place = 0;  // in the list
  for (const StoredPoint& p : store.points(device, recipe, surface.name)) {
    known.insert(identity_of(p));
    ids.insert(p.identity);
  }
  for (const Json& point : JsonReader(json, where).array("points")) {
    StoredPoint p;
    try {
      p = point_from_json(point, where + ": " + surface.name);
    } catch (const Error& e) {
      throw Error(e.kind(),
                  where + ", " + surface.name + ", point " + std::to_string(++place) + ": " + e.what());
    }
    ++place;
    // Stores before version 3 wrote no identity, and gave a point another one each time it was brought.
    if (ids.count(p.identity) > 0 || known.count(identity_of(p)) > 0) {
      ++summary.points_known;
      continue;
    }
    p.origin = capped(p.origin.empty() ? origin : p.origin + "; " + origin, kLongestOrigin);
    store.add_point(device, recipe, surface, p);
    ++summary.points;
  }
}

void import_device(Store& store, const Json& json, const std::string& origin, const std::string& where,
                   ImportSummary& summary) {
  const JsonReader r(json, where);
  const Json& fingerprint = r.object("fingerprint");
  require_fingerprint(fingerprint, where + ": fingerprint");
  const bool known = store.device(hex_digest(fingerprint.dump())).has_value();
  const std::string device = store.know_device(fingerprint);
  summary.devices += known ? 0 : 1;
  for (const Json& surface : r.array("surfaces"))
    import_surface(store, device, JsonReader(surface, where).text("recipe"), surface, origin, where, summary);
  for (const Json& fact : r.array("facts")) {
    const JsonReader one(fact, where + ": fact");
    const std::string recipe = one.text("recipe"), name = one.text("name");
    if (!one.has("value")) throw bad_input(where + ": fact \"" + name + "\" has no value");
    require_plausible_fact(name, fact.at("value"), where + ": fact \"" + name + "\"");
    if (store.fact(device, recipe, name)) continue;
    store.put_fact(device, recipe, name, fact.at("value"));
    ++summary.facts;
  }
}

}  // namespace

Json export_store(const Store& store, const std::string& device, const std::string& program) {
  Json devices = Json::array();
  for (const StoredDevice& d : store.devices()) {
    if (!device.empty() && d.id != device) continue;
    Json surfaces = Json::array(), facts = Json::array();
    for (const SurfaceCount& s : store.surfaces(d.id)) {
      Json one = surface_to_json(s.surface);
      one["recipe"] = s.recipe;
      one["points"] = Json::array();
      for (const StoredPoint& p : store.points(d.id, s.recipe, s.surface.name))
        one["points"].push_back(point_to_json(p));
      surfaces.push_back(std::move(one));
    }
    for (const StoredFact& f : store.facts(d.id))
      facts.push_back({{"recipe", f.recipe}, {"name", f.name}, {"value", f.value}});
    devices.push_back({{"fingerprint", d.fingerprint},
                       {"last_used", d.last_used},
                       {"surfaces", std::move(surfaces)},
                       {"facts", std::move(facts)}});
  }
  return {{"ampere_profiles", kExchangeVersion},
          {"exported_by", program},
          {"exported_at", utc_now()},
          {"devices", std::move(devices)}};
}

ImportSummary import_store(Store& store, const Json& exported, const std::string& origin) {
  const JsonReader r(exported, "profiles");
  const std::int64_t version = r.integer("ampere_profiles");
  if (version != kExchangeVersion) {
    throw bad_input("profiles of version " + std::to_string(version) + "; this program reads version " +
                    std::to_string(kExchangeVersion) + (version > kExchangeVersion ? ": update ampere" : ""));
  }
  for (int tries = 0;; ++tries) {
    try {
      ImportSummary summary;
      Store::Transaction transaction(store);
      int count = 0;
      for (const Json& device : r.array("devices"))
        import_device(store, device, origin, "profiles: device " + std::to_string(++count), summary);
      transaction.commit();
      return summary;
    } catch (const WritersMet&) {
      if (tries >= kMostTries) throw;
    }
  }
}

ImportSummary merge_store(Store& store, const Store& other) {
  return import_store(store, export_store(other, "", ""), "merged from " + other.path() + " at " + utc_now());
}

}  // namespace ampere
