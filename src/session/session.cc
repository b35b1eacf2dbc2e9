#include "session/session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/capped.h"
#include "meter/open.h"
#include "model/relative.h"
#include "session/heat.h"
#include "session/memory.h"
#include "store/plausible.h"

namespace ampere {

void answered_nonsense(const WorkerClient& worker, const std::string& why) {
  throw Error(ErrorKind::kWorker, "the worker (" + worker.command() + ") answered nonsense (" + capped(why) +
                                      "); see docs/protocol.md");
}

Measure Session::measure() const {
  const double memory_bytes = device.value("memory_bytes", 0.0);
  Measure once = [client = worker.get(), place = memory_place_of(device),
                  memory_bytes](const MeasureRequest& request) {
    if (memory_bytes > 0)
      require_memory(request.network, {request.batch, request.recipe}, place, memory_bytes);
    return client->measure(request);
  };
  // Each is told once, or a phone would tell it of most points.
  const auto tell = [told = told_of_heat, notice = on_notice](std::size_t which, const char* what) {
    if (notice && !std::exchange((*told)[which], true)) notice(what);
  };
  Measure cool = when_cool(std::move(once), [client = worker.get(), meter = meter, tell](double s) {
    tell(0, "heat slows the device down; such points are measured again after a rest of 30 s and more");
    client->idle(s, meter);
  });
  return [cool = std::move(cool), tell](const MeasureRequest& request) {
    Measurement m = cool(request);
    if (m.throttled)
      tell(1,
           "heat slowed the device down at a point that was kept nevertheless; such points are marked, and "
           "count "
           "as less sure");
    return m;
  };
}

MeasureMode Session::profiling_mode() const {
  return device.value("type", "cpu") == "cuda" ? MeasureMode::kReplay : MeasureMode::kEager;
}

Json fingerprint_of(const Json& device, const std::string& meter) {
  Json f = Json::object();
  for (const char* key : {"name", "type", "cores", "driver", "framework", "blas", "allocator"}) {
    if (device.contains(key)) f[key] = device[key];
  }
  // A phone's small cores are another device than its large ones. Where nobody tells, nothing changes.
  for (const char* key : {"governor", "core_kinds"}) {
    if (device.contains(key) && device[key].is_string() && !device[key].get_ref<const std::string&>().empty())
      f[key] = device[key];
  }
  f["meter"] = meter;
  return f;
}

WorkerOptions worker_options(const std::string& command) {
  WorkerOptions w;
  w.command = command;
  if (const char* record = std::getenv("AMPERE_RECORD")) w.record = record;
  const char* text = std::getenv("AMPERE_WORKER_TIMEOUT");
  if (!text || !*text) return w;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0)) {
    throw bad_input(std::string("AMPERE_WORKER_TIMEOUT must be a number of seconds above 0, found \"") +
                    text + "\"");
  }
  w.hello_seconds = w.reply_seconds = w.measure_margin = w.trace_seconds = seconds;
  return w;
}

namespace {

bool keeps_power(const JsonReader& found, const std::string& meter) {
  if (!found.has("meters")) return false;
  for (const Json& json : found.array("meters")) {
    const JsonReader m(json, "meters");
    const bool kept = m.has("samples_s") && !json.at("samples_s").is_null() && m.number("samples_s") > 0;
    if (kept && same_meter(meter, m.text("name"))) return true;
  }
  return false;
}

// What of a device is not as it was: "name Orin where it was TX2".
std::string difference(const Json& before, const Json& now) {
  std::string text;
  for (const auto& [key, value] : now.items()) {
    const Json was = before.value(key, Json());
    if (value != was)
      text += (text.empty() ? "" : ", ") + key + " " + value.dump() + " where it was " + was.dump();
  }
  return text.empty() ? "it no longer tells all that it told" : text;
}

// A board that comes back may be another one: its address was given away, or somebody swapped them. Points of
// both in one profile would be worth nothing.
void require_same_device(Session& s) {
  Json before = s.fingerprint;
  before["unit"] = s.unit;
  s.worker->when_restarted([client = s.worker.get(), before, meter = s.meter](const Json& found) {
    const Json now = read_answer(*client, [&] {
      const Json device = JsonReader(found, "detect").object("device");
      require_fingerprint(device, "device");
      Json fingerprint = fingerprint_of(device, meter);
      fingerprint["unit"] = JsonReader(device, "device").text("unit", "");
      return fingerprint;
    });
    if (now == before) return;
    throw Error(ErrorKind::kFailed,
                "the worker (" + client->command() +
                    ") was started again and runs on another device: " + capped(difference(before, now)) +
                    "; it was asked for nothing. What was measured is kept: the same "
                    "command goes on with the first device, or profiles this one");
  });
}

}  // namespace

Session open_worker(const SessionOptions& options) {
  Session s;
  WorkerOptions reached = worker_options(options.worker);
  reached.reconnect_seconds = options.reconnect_s;
  reached.on_notice = options.on_notice;
  s.on_notice = options.on_notice;
  s.worker = std::make_unique<WorkerClient>(std::move(reached));
  const Json found = s.worker->detect();
  read_answer(*s.worker, [&] {
    JsonReader r(found, "detect");
    s.device = r.object("device");
    require_fingerprint(s.device, "device");
    for (const char* key : {"memory_bytes", "threads"}) JsonReader(s.device, "device").integer(key, 0);
    s.meter = options.meter.empty() ? r.text("default_meter", "") : options.meter;
    s.unit = JsonReader(s.device, "device").text("unit", "");
    s.keeps_power = keeps_power(r, s.meter);
    s.fingerprint = fingerprint_of(s.device, s.meter);
    require_fingerprint(s.fingerprint, "detect");  // the meter's name, too
  });
  if (s.meter.empty())
    throw Error(ErrorKind::kNoMeter, "the worker has no usable energy meter; see: ampere detect");
  require_same_device(s);
  return s;
}

namespace {

constexpr const char* kUnits = "units";

std::vector<std::string> known_units(const Session& session) {
  std::vector<std::string> units;
  const auto stored = session.store->fact(session.device_id, "", kUnits);
  if (!stored || !stored->is_array()) return units;
  for (const Json& unit : *stored) {
    if (unit.is_string()) units.push_back(unit.get<std::string>());
  }
  return units;
}

void note_other_units(Session& session) {
  if (session.unit.empty()) return;
  for (const std::string& unit : known_units(session)) {
    if (unit == session.unit) continue;
    session.notes.push_back("some of this profile was measured on another card of this name (" + unit +
                            "); such cards can differ by several percent in energy. For a profile of this "
                            "one (" +
                            session.unit + ") use another --store");
    return;
  }
}

}  // namespace

void remember_unit(const Session& session) {
  std::vector<std::string> units = known_units(session);
  if (session.unit.empty() || std::find(units.begin(), units.end(), session.unit) != units.end()) return;
  units.push_back(session.unit);
  session.store->put_fact(session.device_id, "", kUnits, units);
}

Session open_session(const SessionOptions& options) {
  require_store_path(options.store);
  auto store = std::make_unique<Store>(options.store);
  Session s = open_worker(options);
  s.store = std::move(store);
  s.device_id = s.store->add_device(s.fingerprint);
  remember_memory(s);
  note_other_units(s);
  if (!s.store->undelivered().empty())
    s.notes.push_back("points that wait for this server cannot be delivered: " + s.store->undelivered() +
                      "; see: ampere store deliver");
  return s;
}

std::optional<StoredDevice> latest_device(const Store& store) {
  std::optional<StoredDevice> relative;
  // A store of a fleet may hold very many; the first of them will mostly do.
  constexpr int kAtOnce = 16;
  for (int from = 0;; from += kAtOnce) {
    const std::vector<StoredDevice> some = store.devices_with_points(from, kAtOnce);
    for (const StoredDevice& d : some) {
      if (!d.problem.empty()) continue;
      if (!is_elsewhere(d.fingerprint)) return d;
      if (!relative) relative = d;
    }
    if (some.size() < kAtOnce) return relative;
  }
}

StoredDevice choose_device(const Store& store, const std::string& id) {
  if (id.empty()) {
    if (auto latest = latest_device(store)) return *latest;
    throw Error(ErrorKind::kNotProfiled,
                store.path() + ": no device was profiled yet; run: ampere profile MODEL --batch N");
  }
  if (const auto d = store.device_like(id)) {
    if (d->problem.empty()) return *d;
    throw bad_input(store.path() + ": device " + d->id + ": " + d->problem +
                    "; remove it with: ampere store check --remove");
  }
  throw bad_input("no device in " + store.path() + " has the id " + id + "; see: ampere store list");
}

StoredDevice device_asked_for(const Store& store, const std::string& id) {
  return id.empty() ? latest_device(store).value_or(StoredDevice{}) : choose_device(store, id);
}

Json json_header(const Json& fingerprint, bool modelled) {
  return {{"schema_version", kOutputSchemaVersion},
          {"device", fingerprint},
          {"meter", fingerprint.value("meter", "")},
          {"modelled", modelled}};
}

}  // namespace ampere
