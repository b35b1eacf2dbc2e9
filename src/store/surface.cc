#include "store/surface.h"

#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "layers/kind_json.h"
#include "network/network_json.h"

namespace ampere {
namespace {

constexpr Purpose kPurposes[] = {Purpose::kSurface, Purpose::kTimedProbe, Purpose::kProbe, Purpose::kWithin,
                                 Purpose::kEmpty,   Purpose::kWhole,      Purpose::kTruth};

Json kind_or_null(const std::optional<LayerKind>& kind) { return kind ? kind_to_json(*kind) : Json(nullptr); }

std::optional<LayerKind> optional_kind(const JsonReader& r, const std::string& key, const Json& json) {
  if (!r.has(key) || json.at(key).is_null()) return std::nullopt;
  return kind_from_json(r.object(key), r.where() + ": " + key);
}

}  // namespace

const char* to_word(Purpose purpose) {
  switch (purpose) {
    case Purpose::kSurface:
      return "surface";
    case Purpose::kTimedProbe:
      return "probe-times";
    case Purpose::kProbe:
      return "probe-energies";
    case Purpose::kWithin:
      return "within";
    case Purpose::kEmpty:
      return "empty";
    case Purpose::kWhole:
      return "whole";
    default:
      return "truth";
  }
}

Purpose purpose_from_word(const std::string& word) {
  for (const Purpose purpose : kPurposes) {
    if (word == to_word(purpose)) return purpose;
  }
  throw bad_input("no surface has the purpose \"" + word + "\"");
}

StoredSurface layer_surface(const std::string& method, LayerRole role, const LayerKind& kind, Phase phase,
                            Neighbours neighbours) {
  StoredSurface s;
  s.method = method;
  s.role = role;
  s.kind = kind;
  s.phase = phase;
  s.name = method + "/";
  if (phase != Phase::kIteration) s.name += std::string(to_word(phase)) + "/";
  s.name += std::string(to_word(role)) + "/" + kind.word();
  if (neighbours.before) s.name += "<" + neighbours.before->word();
  if (neighbours.after) s.name += ">" + neighbours.after->word();
  s.neighbours = std::move(neighbours);
  return s;
}

StoredSurface probe_of(const StoredSurface& surface, Purpose purpose) {
  StoredSurface s = surface;
  s.purpose = purpose;
  s.name = (purpose == Purpose::kProbe    ? "exact/"
            : purpose == Purpose::kWithin ? "within/"
                                          : "probe/") +
           surface.name;
  return s;
}

StoredSurface empty_surface() {
  StoredSurface s;
  s.purpose = Purpose::kEmpty;
  s.method = "split";
  s.name = "split/empty";
  return s;
}

StoredSurface whole_surface(Purpose purpose, const Network& network, std::int64_t batch, MeasureMode mode,
                            int pass) {
  StoredSurface s;
  s.purpose = purpose;
  s.family = family_of(network, batch);
  s.pass = pass;
  s.name = to_word(purpose);
  if (mode == MeasureMode::kReplay) s.name += "-replay";
  if (pass > 0) s.name += std::to_string(pass);
  s.name += "/" + whole_name(network, batch);
  return s;
}

std::string whole_name(const Network& network, std::int64_t batch) {
  const std::string content = hex_digest(network_to_json(network).dump()).substr(0, 8);
  return network.name() + "#" + content + "@b" + std::to_string(batch);
}

std::string family_of(const Network& network, std::int64_t batch) {
  return network.name().substr(0, network.name().find(':')) + "@b" + std::to_string(batch);
}

Json details_to_json(const StoredSurface& s) {
  Json j = Json::object();
  if (s.neighbours.before) j["before"] = kind_to_json(*s.neighbours.before);
  if (s.neighbours.after) j["after"] = kind_to_json(*s.neighbours.after);
  if (!s.neighbours.subtracted.empty()) j["subtracted"] = s.neighbours.subtracted;
  if (!s.family.empty()) j["family"] = s.family;
  if (s.pass > 0) j["pass"] = s.pass;
  if (s.kind) j["kind"] = kind_or_null(s.kind);
  return j;
}

void read_details(const Json& json, const std::string& where, StoredSurface& s) {
  const JsonReader r(json, where);
  s.kind = optional_kind(r, "kind", json);
  s.neighbours.before = optional_kind(r, "before", json);
  s.neighbours.after = optional_kind(r, "after", json);
  if (r.has("subtracted")) {
    for (const Json& name : r.array("subtracted")) {
      if (!name.is_string()) throw bad_input(where + ": \"subtracted\" must be a list of names");
      s.neighbours.subtracted.push_back(name.get<std::string>());
    }
  }
  s.family = r.text("family", "");
  s.pass = static_cast<int>(r.integer_between("pass", 0, 0, 1000000));
}

}  // namespace ampere
