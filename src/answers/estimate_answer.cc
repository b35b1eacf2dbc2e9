#include "answers/estimate_answer.h"

#include "answers/tariff_json.h"
#include "base/error.h"
#include "measure/recipe.h"

namespace ampere {
namespace {

// The network under the profile's recipe, where that was profiled.
std::optional<Estimate> if_profiled(DeviceProfile& profile, const Network& network, std::int64_t batch,
                                    const EstimateOptions& options) {
  try {
    return estimate_network(profile, find_method(options.method), network, batch, options.mode);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kNotProfiled) throw;
    return std::nullopt;
  }
}

// Of so many iterations.
Json scope_json(const EstimateAnswer& a, double n) {
  const Estimate& e = a.estimate;
  const Interval energy = e.energy_j * n, time = e.time_s * n;
  Json figures = {{"iterations", n},
                  {"energy_j", energy.value},
                  {"energy_low_j", energy.low},
                  {"energy_high_j", energy.high},
                  {"time_s", time.value},
                  {"time_low_s", time.low},
                  {"time_high_s", time.high},
                  {"power_w", e.energy_j.value / e.time_s.value}};
  put_bill(figures, a.tariff, energy);
  return figures;
}

Json layer_json(const LayerEstimate& l) {
  return {{"name", l.name},
          {"role", to_word(l.role)},
          {"kind", l.kind},
          {"channels", {{"in", l.channels.in}, {"out", l.channels.out}}},
          {"energy_j", l.energy_j.value},
          {"energy_low_j", l.energy_j.low},
          {"energy_high_j", l.energy_j.high},
          {"time_s", l.time_s.value},
          {"time_low_s", l.time_s.low},
          {"time_high_s", l.time_s.high},
          {"extrapolated", l.extrapolated},
          {"measured", l.measured}};
}

Json memory_json(const MemoryVerdict& v) {
  const MemoryEstimate& m = v.needed;
  Json out = {{"peak_bytes", m.peak_bytes},
              {"weights_bytes", m.weights_bytes},
              {"gradients_bytes", m.gradients_bytes},
              {"optimizer_bytes", m.optimizer_bytes},
              {"data_bytes", m.data_bytes},
              {"saved_bytes", m.saved_bytes},
              {"libraries_bytes", m.libraries_bytes},
              {"temporaries_bytes", m.temporaries_bytes},
              {"rough", m.rough},
              {"device_bytes", v.memory_bytes ? Json(*v.memory_bytes) : Json()},
              {"fits", v.memory_bytes ? Json(v.fits) : Json()}};
  if (!v.fits) out["largest_batch"] = v.largest_batch;
  return out;
}

// What was done for the estimate, and under which setting.
void put_circumstances(Json& out, const EstimateAnswer& a) {
  const Estimate& e = a.estimate;
  if (e.regime != Regime::kSingle) {
    out["device_time_s"] = e.device_time_s;
    out["device_energy_j"] = e.device_energy_j;
    out["host_time_s"] = e.host_time_s;
    out["idle_power_w"] = e.idle_power_w;
  }
  if (a.tuned) {
    out["autotune"] = {{"energy_j", a.tuned->energy_j.value},
                       {"saves_j", e.energy_j.value - a.tuned->energy_j.value}};
  }
  if (a.probed) {
    out["probe"] = {{"layers", a.probed->layers},
                    {"measured", a.probed->measured},
                    {"known", a.probed->known},
                    {"time_s", a.probed->seconds}};
  }
  put_tariff(out, a.tariff);
  if (e.power_limit_w > 0 || e.clock_mhz > 0) {
    out["setting"] = {{"power_limit_w", e.power_limit_w > 0 ? Json(e.power_limit_w) : Json()},
                      {"clock_mhz", e.clock_mhz > 0 ? Json(e.clock_mhz) : Json()},
                      {"modelled", true}};
  }
}

}  // namespace

JobLength job_length(std::int64_t samples, std::int64_t batch, std::int64_t epochs) {
  if (samples == 0) return {};
  return {iterations_of(samples, batch, 1), iterations_of(samples, batch, epochs)};
}

Json to_json(const EstimateAnswer& a) {
  const Estimate& e = a.estimate;
  Json out = json_header(a.device.fingerprint, e.modelled);
  out["device_id"] = a.device.id;
  out["model"] = a.model;
  out["batch"] = a.setup.batch;
  out["recipe"] = a.setup.recipe.word();
  out["mode"] = a.mode == MeasureMode::kReplay ? "replay" : "eager";
  out["method"] = e.method;
  out["regime"] = to_word(e.regime);
  put_circumstances(out, a);
  out["iteration"] = scope_json(a, 1);
  if (a.job.iterations > 0) {
    out["epoch"] = scope_json(a, a.job.iterations_per_epoch);
    out["job"] = scope_json(a, a.job.iterations);
  }
  if (a.battery) {
    out["battery"] = {{"energy_j", a.battery->available_j},
                      {"needed_j", a.battery->needed_j},
                      {"margin_j", a.battery->margin_j},
                      {"probability", a.battery->probability},
                      {"risk", a.risk},
                      {"fits", a.battery->fits}};
  }
  if (a.warm) {
    out["sustained"] = {{"energy_factor", a.warm->energy},
                        {"time_factor", a.warm->time},
                        {"power_w", a.warm->power_w},
                        {"seconds_until_slow", a.warm->seconds_until_slow}};
  }
  if (a.memory.needed.peak_bytes > 0) out["memory"] = memory_json(a.memory);
  out["unmeasured"] = e.unmeasured;
  if (e.gain) {
    out["gain"] = {{"layers", e.gain->layers},
                   {"time_s", e.gain->seconds},
                   {"energy_low_j", e.gain->energy_j.low},
                   {"energy_high_j", e.gain->energy_j.high}};
  }
  if (a.sheet) out["sheet"] = {{"name", a.sheet->name}, {"source", a.sheet->source}};
  out["composition"] = {{"factor", e.composition_factor}, {"networks", e.composition_networks}};
  out["fixed"] = {{"energy_j", e.fixed_energy_j}, {"time_s", e.fixed_time_s}};
  out["layers"] = to_json(e.layers);
  return out;
}

Json to_json(const std::vector<LayerEstimate>& layers) {
  Json out = Json::array();
  for (const LayerEstimate& l : layers) out.push_back(layer_json(l));
  return out;
}

std::optional<Estimate> with_autotune(DeviceProfile& tuned, const Network& network, std::int64_t batch,
                                      const EstimateOptions& options) {
  if (!tuned.store().has_points(tuned.device(), tuned.recipe())) return std::nullopt;
  std::optional<Estimate> found = if_profiled(tuned, network, batch, options);
  // A saving between two guesses is none.
  return found && found->unmeasured > 0 ? std::nullopt : found;
}

std::string other_precision(Store& store, const StoredDevice& device, const Network& network,
                            const TrainingSetup& setup, const EstimateOptions& options) {
  for (const std::string& precision : kPrecisions) {
    if (precision == setup.recipe.precision) continue;
    Recipe other = setup.recipe;
    other.precision = precision;
    DeviceProfile profile(store, device.id, stored_word(other, device.fingerprint));
    if (if_profiled(profile, network, setup.batch, options))
      return "\nthe device is known in another precision: add --precision " + precision + ", or";
  }
  return "";
}

}  // namespace ampere
