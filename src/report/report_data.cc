#include <algorithm>
#include <set>

#include "base/error.h"
#include "estimate/estimate.h"
#include "report/numbers.h"
#include "report/report.h"
#include "report/surface_data.h"

namespace ampere {
namespace {

Json interval_json(const Interval& i) {
  return {short_number(i.value), short_number(i.low), short_number(i.high)};
}

Json device_card(const Store& store, const StoredDevice& device, const Results& results) {
  Json card = device.fingerprint;
  card["id"] = device.id;
  card["last_used"] = device.last_used;
  const auto surfaces = store.surfaces(device.id);
  int points = 0;
  std::set<std::string> recipes;
  for (const SurfaceCount& s : surfaces) {
    points += s.points;
    recipes.insert(s.recipe);
  }
  card["points"] = points;
  card["recipes"] = recipes;
  for (const StoredFact& fact : store.facts(device.id)) {
    if (fact.name != "idle") continue;
    card["idle_power_w"] = short_number(JsonReader(fact.value, "idle").number("power_w"));
  }
  for (const SurfaceCount& s : surfaces) {
    if (s.surface.purpose == Purpose::kEmpty || card.contains("modelled")) continue;
    const auto seen = store.points(device.id, s.recipe, s.surface.name);
    // A damaged store may list a surface whose points it does not find.
    if (!seen.empty()) card["modelled"] = seen.front().measurement.modelled;
  }
  // What ampere detect said of this very device and meter.
  for (const Json& found : results.detected) {
    const bool same = found["device"].value("name", "") == device.fingerprint.value("name", "") &&
                      found["device"].value("driver", "") == device.fingerprint.value("driver", "");
    for (const Json& meter : found["meters"]) {
      if (!same || meter["name"] != device.fingerprint.value("meter", "")) continue;
      for (const char* key : {"scope", "description", "tick_s", "read_s", "resolution_j"})
        card[key] = meter[key];
      if (!card.contains("idle_power_w")) card["idle_power_w"] = meter["idle_power_w"];
    }
  }
  return card;
}

// Of a million iterations: one alone costs nothing that people have words for.
Json bill_json(const Tariff& tariff, const Interval& energy_j) {
  const Bill bill = bill_of(tariff, energy_j * 1e6);
  return {{"energy_kwh", interval_json(bill.energy_kwh)},
          {"cost", bill.cost ? interval_json(*bill.cost) : Json()},
          {"currency", tariff.currency},
          {"carbon_g", bill.carbon_g ? interval_json(*bill.carbon_g) : Json()},
          {"carbon_source", tariff.carbon_source}};
}

Json estimate_json(const Estimate& e, const KnownNetwork& n, const Tariff& tariff) {
  Json layers = Json::array();
  for (const LayerEstimate& l : e.layers) {
    layers.push_back({{"name", l.name},
                      {"role", to_word(l.role)},
                      {"kind", l.kind},
                      {"in", l.channels.in},
                      {"out", l.channels.out},
                      {"energy_j", interval_json(l.energy_j)},
                      {"time_s", interval_json(l.time_s)},
                      {"extrapolated", l.extrapolated}});
  }
  Json out = {{"model", n.network.name()},
              {"batch", n.batch},
              {"recipe", n.recipe},
              {"method", e.method},
              {"modelled", e.modelled},
              {"regime", to_word(e.regime)},
              {"energy_j", interval_json(e.energy_j)},
              {"time_s", interval_json(e.time_s)},
              {"fixed_energy_j", short_number(e.fixed_energy_j)},
              {"fixed_time_s", short_number(e.fixed_time_s)},
              {"composition_networks", e.composition_networks},
              {"layers", layers}};
  if (!tariff.empty()) out["bill"] = bill_json(tariff, e.energy_j);
  if (e.regime != Regime::kSingle) {
    out["device_time_s"] = short_number(e.device_time_s);
    out["host_time_s"] = short_number(e.host_time_s);
    out["idle_power_w"] = short_number(e.idle_power_w);
  }
  return out;
}

// Networks that were asked for must be known; those that are merely there are left out when they are not.
Json estimates(Store& store, const std::string& device, const std::vector<KnownNetwork>& networks,
               const ReportOptions& options, bool required) {
  Json out = Json::array();
  const Method& by = find_method(options.method);
  const MeasureMode mode = by.tells_eager ? MeasureMode::kEager : MeasureMode::kReplay;
  for (const KnownNetwork& n : networks) {
    DeviceProfile profile(store, device, n.recipe);
    try {
      out.push_back(
          estimate_json(estimate_network(profile, by, n.network, n.batch, mode), n, options.tariff));
    } catch (const Error& e) {
      if (required || e.kind() != ErrorKind::kNotProfiled) throw;
    }
  }
  return out;
}

Json profiling_efforts(const Store& store, const StoredDevice& device) {
  Json out = Json::array();
  for (const StoredFact& fact : store.facts(device.id)) {
    if (fact.name.rfind("profiling/", 0) != 0) continue;
    const JsonReader r(fact.value, fact.name);
    out.push_back({{"method", r.text("method", "")},
                   {"family", r.text("family", "")},
                   {"recipe", fact.recipe},
                   {"device", device.fingerprint.value("name", "")},
                   {"points", r.integer("points")},
                   {"time_s", short_number(r.number("time_s"))},
                   {"fitting_time_s", short_number(r.number("fitting_time_s"))}});
  }
  return out;
}

// Surfaces that subtract others need those, too.
bool measurable(const LayerModels& models, const SurfacePlan& plan) {
  return std::all_of(plan.subtract.begin(), plan.subtract.end(),
                     [&](const Neighbour& n) { return models.knows(n.key); }) &&
         models.knows(plan.key) && models.has(plan.key);
}

void add_device(Json& data, Store& store, const StoredDevice& device, const Results& results,
                const ReportOptions& options) {
  data["device"] = device_card(store, device, results);
  const std::vector<KnownNetwork> networks = whole_networks(store, device.id);
  data["estimates"] = options.networks.empty() ? estimates(store, device.id, networks, options, false)
                                               : estimates(store, device.id, options.networks, options, true);
  data["profiling"] = profiling_efforts(store, device);
  const KnownSurfaces known = known_surfaces(store, device.id);
  std::vector<std::string> unknown = known.unknown;
  std::map<std::string, DeviceProfile> profiles;                                  // by recipe
  std::map<std::pair<std::string, std::string>, std::vector<SurfacePlan>> plans;  // by recipe and method
  for (const KnownSurface& s : known.surfaces) plans[{s.recipe, s.method}].push_back(s.plan);
  std::map<std::pair<std::string, std::string>, LayerModels> models;
  int done = 0;
  for (const KnownSurface& s : known.surfaces) {
    if (options.progress) options.progress(done++, static_cast<int>(known.surfaces.size()), s.plan.key);
    const auto profile = profiles.try_emplace(s.recipe, store, device.id, s.recipe).first;
    // The surface is to be seen as it was fitted; what was probed since shows how right it is.
    const auto all =
        models
            .try_emplace({s.recipe, s.method}, profile->second, plans.at({s.recipe, s.method}), Probes::kNone)
            .first;
    try {
      if (measurable(all->second, s.plan)) data["surfaces"].push_back(surface_data(all->second, s));
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kBadInput && e.kind() != ErrorKind::kFailed) throw;
      unknown.push_back(s.plan.key);  // of a kind that cannot be, in a damaged store
    }
  }
  data["unknown_surfaces"] = unknown;
}

}  // namespace

Json report_data(Store* store, const StoredDevice* device, const Results& results,
                 const ReportOptions& options) {
  Json data = {{"schema_version", 1},
               {"title", options.title},
               {"version", options.version},
               {"generated_at", utc_now()},
               {"device", nullptr},
               {"estimates", Json::array()},
               {"profiling", Json::array()},
               {"surfaces", Json::array()},
               {"unknown_surfaces", Json::array()},
               {"evaluations", results.evaluations},
               {"additivity", results.additivity},
               {"curves", results.curves},
               {"tunings", results.tunings}};
  if (store && device) add_device(data, *store, *device, results, options);
  return data;
}

}  // namespace ampere
