#include "model/relative.h"

#include <filesystem>
#include <set>
#include <tuple>

#include "base/capped.h"
#include "base/error.h"
#include "store/address.h"

namespace ampere {
namespace {

constexpr const char* kFact = "relative";

Json fingerprint_in(const Store& store, const std::string& id) {
  if (const auto device = store.device(id)) return device->fingerprint;
  throw bad_input(store.path() + " has no device " + id);
}

std::string text_of(const Json& fingerprint, const char* key) {
  const auto at = fingerprint.find(key);
  return at == fingerprint.end() ? "" : at->dump();
}

bool same(const Json& a, const Json& b, const char* key) { return text_of(a, key) == text_of(b, key); }

// Empty `id`: the one used last of those that anything was measured on, of the same hardware where there is
// one; if there is none, the caller says why another one does not do.
StoredDevice device_with(const Store& store, const std::string& id, const std::string& but,
                         const Json& here) {
  std::optional<StoredDevice> other;
  for (const StoredDevice& d : store.devices()) {
    if (d.id == but || !d.problem.empty() || d.id.rfind(id, 0) != 0) continue;
    if (!id.empty()) return d;
    if (store.surfaces(d.id).empty()) continue;
    if (same(here, d.fingerprint, "name") && same(here, d.fingerprint, "type") &&
        same(here, d.fingerprint, "meter"))
      return d;
    if (!other) other = d;
  }
  if (other) return *other;
  const std::string none = store.path() + (but.empty() ? " has no device " : " has no other device ");
  if (id.empty()) throw bad_input(none + "that anything was measured on");
  throw bad_input(none + capped(id) + ", and there is no such file; see: ampere store list");
}

// What tells a copied device from the one it is a relative of, which may have the very same fingerprint.
Json elsewhere(Json fingerprint) {
  fingerprint["elsewhere"] = true;
  return fingerprint;
}

// However its path is written. Stores that are kept in memory are all of one name.
bool same_store(const Store& a, const Store& b) {
  if (&a == &b) return true;
  if (a.path() == b.path() && is_server(a.path())) return true;
  std::error_code unknown;
  return std::filesystem::equivalent(a.path(), b.path(), unknown) && !unknown;
}

// What `device` measured itself is no news from elsewhere: `other` may be a copy of its own store.
int copy_points(Store& store, const std::string& device, const std::string& to, const Store& other,
                const std::string& from) {
  int points = 0;
  for (const SurfaceCount& s : other.surfaces(from)) {
    std::set<std::tuple<std::string, Channels, double>> own, known;
    const auto mark = [](const StoredPoint& p) {
      return std::make_tuple(p.measured_at, p.channels, p.measurement.time_s);
    };
    for (const StoredPoint& p : store.points(device, s.recipe, s.surface.name)) own.insert(mark(p));
    for (const StoredPoint& p : store.points(to, s.recipe, s.surface.name)) known.insert(mark(p));
    for (StoredPoint p : other.points(from, s.recipe, s.surface.name)) {
      if (own.count(mark(p))) continue;
      ++points;
      if (known.count(mark(p))) continue;
      if (p.origin.empty()) p.origin = other.path();
      store.add_point(to, s.recipe, s.surface, p);
    }
  }
  for (const StoredFact& f : other.facts(from)) {
    if (f.name == kFact) continue;  // it names a device of that store
    if (!store.fact(to, f.recipe, f.name)) store.put_fact(to, f.recipe, f.name, f.value);
  }
  return points;
}

}  // namespace

bool is_elsewhere(const Json& fingerprint) {
  return fingerprint.is_object() && fingerprint.contains("elsewhere");
}

std::optional<Relative> relative_of(const Store& store, const std::string& device) {
  const auto fact = store.fact(device, "", kFact);
  if (!fact) return std::nullopt;
  const JsonReader r(*fact, "the relative of device " + device);
  return Relative{r.text("device"), r.boolean("sister")};
}

TakenOver take_over(Store& store, const std::string& device, const Store& other, const std::string& id) {
  const bool within = same_store(store, other);
  const Json here = fingerprint_in(store, device);
  const StoredDevice source = device_with(other, id, within ? device : "", here);
  if (!same(here, source.fingerprint, "name") || !same(here, source.fingerprint, "type"))
    throw bad_input("a profile is carried between cards of one name, and this is " + text_of(here, "name") +
                    ", that is " + text_of(source.fingerprint, "name") +
                    "; what is not known here is told by its data sheet, or measured: ampere profile");
  if (!same(here, source.fingerprint, "meter"))
    throw bad_input("the two were measured by different meters, " + text_of(here, "meter") + " and " +
                    text_of(source.fingerprint, "meter") + ", which do not count the same energy");
  TakenOver taken;
  taken.name = source.fingerprint.value("name", "");
  taken.relative.sister = same(here, source.fingerprint, "driver") &&
                          same(here, source.fingerprint, "framework") &&
                          same(here, source.fingerprint, "blas");
  Store::Transaction together(store);
  taken.relative.device = within ? source.id : store.know_device(elsewhere(source.fingerprint));
  if (!within) taken.points = copy_points(store, device, taken.relative.device, other, source.id);
  if (!within && taken.points == 0)
    throw bad_input("all that " + other.path() + " has of " + taken.name +
                    " was measured here; name a store of another card");
  store.put_fact(device, "", kFact, {{"device", taken.relative.device}, {"sister", taken.relative.sister}});
  together.commit();
  if (within) {
    for (const SurfaceCount& s : store.surfaces(source.id)) taken.points += s.points;
  }
  return taken;
}

}  // namespace ampere
