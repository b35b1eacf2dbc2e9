// ampere fleet: many devices at the same time.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "common.h"
#include "fleet/fleet_file.h"
#include "fleet/together.h"
#include "fleet_table.h"
#include "measure/recipe.h"
#include "session/profile.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

constexpr const char* kUsualFile = "fleet.json";

struct FleetArguments {
  CommonOptions common;
  std::string file;
  int at_once = 0;  // 0: as the file says
};

std::string usual_file() {
  const char* named = std::getenv("AMPERE_FLEET");
  return named && *named ? named : kUsualFile;
}

Fleet fleet_of(const FleetArguments& o) {
  Fleet fleet = read_fleet(o.file);
  if (o.at_once > 0) fleet.at_once = o.at_once;
  return fleet;
}

// What became of one device.
struct Outcome {
  std::string error;  // empty: it went well
  Json fingerprint;
  std::string device_id;
  std::string meter;
  int measured = 0;  // points
  int reused = 0;
  std::string waits_in;  // the file that points wait in while the server is away
};

// Opens a session on the device, remembers which one is called so, and goes on with `then`.
template <class Then>
Outcome with_session(const FleetArguments& o, const FleetDevice& device, const Then& then) {
  Outcome out;
  std::optional<Session> session;
  try {
    session = open_session(SessionOptions{o.common.store, device.command(), device.meter});
    out.fingerprint = session->fingerprint;
    out.device_id = session->device_id;
    out.meter = session->meter;
    session->store->put_fact(session->device_id, "", fleet_fact(device.name),
                             {{"reach", device.reach}, {"seen_at", utc_now()}});
    then(*session, out);
    if (!session->store->aside().empty()) session->store->deliver();
  } catch (const std::exception& e) {
    out.error = e.what();
  }
  if (session) out.waits_in = session->store->aside();
  return out;
}

Json to_json(const FleetDevice& device, const Outcome& out) {
  return {{"name", device.name},
          {"reach", device.reach},
          {"device_id", out.device_id.empty() ? Json(nullptr) : Json(out.device_id)},
          {"device", out.fingerprint.is_null() ? Json(nullptr) : out.fingerprint},
          {"meter", out.meter.empty() ? Json(nullptr) : Json(out.meter)},
          {"error", out.error.empty() ? Json(nullptr) : Json(out.error)}};
}

// Devices that failed are told below the table; the exit code is 1 then.
void end_with(const FleetArguments& o, const Fleet& fleet, const std::vector<Outcome>& outcomes) {
  std::size_t failed = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].waits_in.empty()) {
      warn(fmt::format("{}: the store is away; what was measured waits in {}; see: ampere store deliver",
                       fleet.devices[i].name, outcomes[i].waits_in));
    }
    if (outcomes[i].error.empty()) continue;
    ++failed;
    if (!o.common.json) print("{}: failed: {}\n", fleet.devices[i].name, outcomes[i].error);
  }
  if (failed == 0) return;
  throw Error(
      ErrorKind::kFailed,
      fmt::format("{} of {} devices failed; what the others measured is kept, and running it again goes "
                  "on where it was",
                  failed, outcomes.size()));
}

void run_detect(const FleetArguments& o) {
  const Fleet fleet = fleet_of(o);
  std::vector<Outcome> outcomes(fleet.devices.size());
  {
    FleetTable progress(fleet, o.common.quiet || o.common.json);
    for_each_device(fleet, [&](std::size_t i) {
      progress.begins(i, "asking");
      outcomes[i] = with_session(o, fleet.devices[i], [](const Session&, Outcome&) {});
      const Outcome& out = outcomes[i];
      progress.ends(i, out.error.empty(), out.error.empty() ? out.fingerprint.value("name", "?") : out.error);
    });
  }
  Json rows = Json::array();
  Table table{{"name", "device", "meter", "id", "reached by"}, {}, {}, 1};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& out = outcomes[i];
    rows.push_back(to_json(fleet.devices[i], out));
    table.rows.push_back({fleet.devices[i].name, out.error.empty() ? out.fingerprint.value("name", "?") : "-",
                          out.meter, out.device_id, fleet.devices[i].reach});
  }
  if (o.common.json)
    print_json({{"schema_version", kOutputSchemaVersion}, {"devices", rows}});
  else
    print(table);
  end_with(o, fleet, outcomes);
}

struct FleetProfileArguments : FleetArguments {
  std::vector<std::string> models;  // none: the devices themselves
  ModelOptions model;
  ProfilingOptions profiling;
  double minutes = 5;
};

void profile_one(const FleetProfileArguments& o, const std::vector<LoadedModel>& models,
                 const Session& session, const OnStep& on_step, Outcome& out) {
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.model.recipe, session.fingerprint));
  if (models.empty()) {
    const DeviceSummary done = profile_device(session, profile, o.minutes, o.model.recipe, on_step);
    out.measured = done.measured;
    out.reused = done.known;
  }
  for (const LoadedModel& model : models) {
    const ProfilingSummary done =
        profile_as_asked(session, profile, model, setup_of(o.model), o.profiling, on_step);
    for (const MethodProfile& p : done.methods) {
      out.measured += p.summary.measured;
      out.reused += p.summary.reused;
    }
    if (done.exact) {
      out.measured += done.exact->measured;
      out.reused += done.exact->known;
    }
  }
}

void run_profile(const FleetProfileArguments& o) {
  const Fleet fleet = fleet_of(o);
  check(o.profiling);
  std::vector<LoadedModel> models;
  for (const std::string& text : o.models) {
    ModelOptions one = o.model;
    one.model = text;
    models.push_back(load_model(one, o.common));
    parse_layers(models.back().network, o.model.batch);  // bad shapes are told before anything is started
  }
  std::vector<Outcome> outcomes(fleet.devices.size());
  TakeTurns turns;
  {
    FleetTable progress(fleet, o.common.quiet || o.common.json);
    for_each_device(fleet, [&](std::size_t i) {
      progress.begins(i, "connecting");
      outcomes[i] = with_session(o, fleet.devices[i], [&](const Session& session, Outcome& out) {
        progress.begins(i, "waiting for its turn");
        const auto turn = turns.wait_for(session.device_id);
        progress.begins(i, "profiling");
        profile_one(
            o, models, session, [&](const Step& step) { progress.steps(i, step); }, out);
      });
      const Outcome& out = outcomes[i];
      progress.ends(i, out.error.empty(),
                    out.error.empty()
                        ? fmt::format("done, {} points measured, {} known", out.measured, out.reused)
                        : out.error);
    });
  }
  Json rows = Json::array();
  Table table{
      {"name", "device", "id", "new", "known", "outcome"}, {}, {false, false, false, true, true, false}, 1};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& out = outcomes[i];
    Json row = to_json(fleet.devices[i], out);
    row["points_measured"] = out.measured;
    row["points_known"] = out.reused;
    rows.push_back(std::move(row));
    table.rows.push_back({fleet.devices[i].name,
                          out.fingerprint.is_null() ? "-" : out.fingerprint.value("name", "?"), out.device_id,
                          std::to_string(out.measured), std::to_string(out.reused),
                          out.error.empty() ? "done" : "failed"});
  }
  if (o.common.json)
    print_json(
        {{"schema_version", kOutputSchemaVersion}, {"recipe", o.model.recipe.word()}, {"devices", rows}});
  else
    print(table);
  end_with(o, fleet, outcomes);
}

struct FleetEstimateArguments : FleetArguments {
  ModelOptions model;
  bool all = false;
  std::string method = "split";
  std::string mode = "eager";
  std::int64_t samples = 0, epochs = 1;

  MeasureMode training() const { return mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager; }
};

struct Place {
  std::string name;
  std::optional<StoredDevice> device;
  std::optional<Estimate> estimate;
  std::string why_not;
};

std::vector<Place> places_in(const Store& store, const FleetEstimateArguments& o) {
  std::vector<Place> places;
  if (o.all) {
    constexpr int kAtOnce = 1000;
    for (int from = 0;; from += kAtOnce) {
      const auto some = store.devices_with_points(from, kAtOnce);
      for (const StoredDevice& d : some) {
        if (d.problem.empty()) places.push_back({d.fingerprint.value("name", "?"), d, std::nullopt, ""});
      }
      if (some.size() < kAtOnce) return places;
    }
  }
  for (const FleetDevice& d : fleet_of(o).devices) {
    Place place{d.name, std::nullopt, std::nullopt, ""};
    const auto ids = store.devices_with_fact(fleet_fact(d.name));
    if (!ids.empty()) place.device = store.device(ids.front());
    if (!place.device) place.why_not = "never reached; run: ampere fleet detect";
    places.push_back(std::move(place));
  }
  return places;
}

// Each thread has a connection of its own. Devices of one kind, which share a profile, are asked about once.
void estimate_places(const FleetEstimateArguments& o, const Network& network, std::vector<Place>& places) {
  std::map<std::string, std::vector<Place*>> kinds;
  for (Place& place : places) {
    if (place.device) kinds[place.device->id].push_back(&place);
  }
  std::vector<const std::vector<Place*>*> queue;
  queue.reserve(kinds.size());
  for (const auto& [id, same] : kinds) queue.push_back(&same);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Store store = Store::to_read(o.common.store);
    for (std::size_t i = next++; i < queue.size(); i = next++) {
      Place& place = *queue[i]->front();
      try {
        DeviceProfile profile(store, place.device->id,
                              stored_word(o.model.recipe, place.device->fingerprint));
        place.estimate =
            estimate_network(profile, find_method(o.method), network, o.model.batch, o.training());
      } catch (const Error& e) {
        place.why_not = e.kind() == ErrorKind::kNotProfiled ? "not profiled for this network" : e.what();
      }
      for (Place* same : *queue[i]) {
        same->estimate = place.estimate;
        same->why_not = place.why_not;
      }
    }
  };
  const std::size_t count =
      std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), queue.size());
  std::vector<std::thread> threads;
  std::exception_ptr failed;
  std::mutex mutex;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&] {
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

Json place_json(const Place& place, double iterations) {
  Json row = {{"name", place.name},
              {"device_id", place.device ? Json(place.device->id) : Json(nullptr)},
              {"device", place.device ? place.device->fingerprint : Json(nullptr)},
              {"why_not", place.why_not.empty() ? Json(nullptr) : Json(place.why_not)}};
  if (!place.estimate) return row;
  const Interval energy = place.estimate->energy_j * iterations, time = place.estimate->time_s * iterations;
  row["modelled"] = place.estimate->modelled;
  row["unmeasured"] = place.estimate->unmeasured;
  row["energy_j"] = energy.value;
  row["energy_low_j"] = energy.low;
  row["energy_high_j"] = energy.high;
  row["time_s"] = time.value;
  row["time_low_s"] = time.low;
  row["time_high_s"] = time.high;
  return row;
}

void run_estimate(const FleetEstimateArguments& o) {
  const LoadedModel model = load_model(o.model, o.common);
  parse_layers(model.network, o.model.batch);
  find_method(o.method);
  const double iterations = o.samples > 0 ? iterations_of(o.samples, o.model.batch, o.epochs) : 1;
  std::vector<Place> places = places_in(Store::to_read(o.common.store), o);
  estimate_places(o, model.network, places);
  // The fewest joules first; those that nothing is known of last.
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    if (!a.estimate || !b.estimate) return a.estimate.has_value() && !b.estimate.has_value();
    return a.estimate->energy_j.value < b.estimate->energy_j.value;
  });
  const bool any =
      std::any_of(places.begin(), places.end(), [](const Place& p) { return p.estimate.has_value(); });
  const bool modelled = std::any_of(places.begin(), places.end(),
                                    [](const Place& p) { return p.estimate && p.estimate->modelled; });
  if (!any) {
    throw Error(
        ErrorKind::kNotProfiled,
        fmt::format("none of the {} devices was profiled for {} at batch {}; run: ampere fleet profile {} "
                    "--batch {}",
                    places.size(), model.network.name(), o.model.batch, o.model.model, o.model.batch));
  }
  if (o.common.json) {
    Json rows = Json::array();
    for (const Place& place : places) rows.push_back(place_json(place, iterations));
    print_json({{"schema_version", kOutputSchemaVersion},
                {"model", model.network.name()},
                {"batch", o.model.batch},
                {"recipe", o.model.recipe.word()},
                {"method", o.method},
                {"mode", o.mode},
                {"iterations", iterations},
                {"modelled", modelled},
                {"devices", rows}});
    return;
  }
  Table table{{"name", "device", "energy (95% interval)", "time (95% interval)", ""}, {}, {}, 1};
  for (const Place& p : places) {
    const std::string device = p.device ? p.device->fingerprint.value("name", "?") : "-";
    if (!p.estimate) {
      table.rows.push_back({p.name, device, "-", "-", p.why_not});
      continue;
    }
    std::string note = p.estimate->modelled ? "modelled" : "";
    if (p.estimate->unmeasured > 0) note += note.empty() ? "~ not all measured" : ", ~ not all measured";
    table.rows.push_back({p.name, device, interval_text(p.estimate->energy_j * iterations, joules_text),
                          interval_text(p.estimate->time_s * iterations, seconds_text), note});
  }
  print(table);
}

}  // namespace

void add_fleet(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("fleet", "Many devices at the same time, from a file of them");
  verb->require_subcommand(1);
  const auto add_file = [](CLI::App& sub, FleetArguments& o, bool reaches) {
    o.file = usual_file();
    sub.add_option("--file", o.file, "The file of devices (docs/fleet.md); fleet.json [AMPERE_FLEET]");
    if (reaches)
      sub.add_option("--at-once", o.at_once, "Devices at the same time, instead of the file's at_once")
          ->check(CLI::Range(1, 512));
    add_store_options(sub, o.common);
    add_output_options(sub, o.common);
  };
  auto detect = std::make_shared<FleetArguments>();
  CLI::App* sub = verb->add_subcommand("detect", "What each device is, and how it is metered");
  add_file(*sub, *detect, true);
  sub->callback([detect] { run_detect(*detect); });

  auto profile = std::make_shared<FleetProfileArguments>();
  sub = verb->add_subcommand("profile", "Profile all of them for networks, or themselves (resumable)");
  sub->add_option("MODEL", profile->models,
                  "Networks; without: the devices themselves, for so many --minutes");
  sub->add_option("-b,--batch", profile->model.batch, "Batch size [1]")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  sub->add_option("--input", profile->model.inputs, "Shape a .pt file reads, for each input")
      ->allow_extra_args(false);
  sub->add_option("--minutes", profile->minutes, "Without MODEL: how long [5]")
      ->check(CLI::Range(0.01, 1440.0));
  sub->add_option("--method", profile->profiling.methods,
                  "split, paper, neuralpower, or several: split,paper")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub->add_flag("--exact", profile->profiling.exact,
                "Only the layers of these networks, once each, at their own channels");
  add_profiling_options(*sub, profile->profiling);
  add_recipe_options(*sub, profile->model);
  add_file(*sub, *profile, true);
  sub->callback([profile] { run_profile(*profile); });

  auto estimate = std::make_shared<FleetEstimateArguments>();
  sub = verb->add_subcommand("estimate", "Where should this run? Joules and time on every device");
  add_model_options(*sub, estimate->model);
  sub->add_flag("--all", estimate->all, "Every device of the store, instead of those of a file");
  sub->add_option("--samples", estimate->samples, "Samples of an epoch: the whole job is told")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 53));
  sub->add_option("--epochs", estimate->epochs, "Epochs of the job [1]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  sub->add_option("--method", estimate->method, "split, paper or neuralpower");
  sub->add_option("--mode", estimate->mode, "How it will be trained: eager or replay")
      ->check(CLI::IsMember({"eager", "replay"}));
  add_recipe_options(*sub, estimate->model);
  add_file(*sub, *estimate, false);
  sub->callback([estimate] { run_estimate(*estimate); });
}

}  // namespace ampere
