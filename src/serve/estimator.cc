#include "serve/estimator.h"

#include <sys/stat.h>

#include <algorithm>

#include "answers/store_answer.h"
#include "base/capped.h"
#include "base/deadline.h"
#include "base/error.h"
#include "measure/recipe.h"
#include "serve/api_words.h"
#include "serve/http.h"
#include "session/access.h"
#include "session/sheet.h"
#include "store/address.h"

namespace ampere {

// A device, and whose turn it is with it.
struct Estimator::Slot {
  explicit Slot(Device d) : device(std::move(d)) {}
  std::mutex mutex;
  Device device;
  std::optional<DataSheet> sheet;
  int fitted = 0;  // networks since its models were forgotten
};

// What became of one question, also where it was refused.
struct Estimator::Told {
  ServedEstimate served;
  std::optional<Error> refused;
};

namespace {

constexpr char kSheet[] = "sheet:";
// A device keeps every model that it ever fitted. Strangers' networks could make that any number.
constexpr int kMostFitted = 2'000;

bool is_sheet_name(const std::string& device) { return device.rfind(kSheet, 0) == 0; }

std::string question(const std::string& device, const ServedNetwork& network, const TrainingSetup& setup,
                     const EstimateOptions& o) {
  return device + "|" + network.id + "|" + std::to_string(setup.batch) + "|" + setup.recipe.word() + "|" +
         o.method + "|" + (o.mode == MeasureMode::kReplay ? "r" : "e") + "|" + Json(o.power_limit_w).dump() +
         "|" + Json(o.clock_mhz).dump();
}

// Whoever asks is not to blame for it.
Store to_serve(const std::string& store) {
  try {
    return Store::to_read(store);
  } catch (const Error& e) {
    // Where a database is, and by which name it is asked, is nobody's business.
    if (is_server(store))
      throw HttpError(503, "failed", "the database of this server's store cannot be read at the moment");
    throw HttpError(503, "failed", "the store of this server cannot be read: " + in_api_words(e.what()).text);
  }
}

}  // namespace

Estimator::Estimator(std::string store, double refresh_s) : store_(std::move(store)), refresh_s_(refresh_s) {
  stamp_ = stamp();
  seen_ = !stamp_.empty();
}
Estimator::~Estimator() = default;

std::size_t Estimator::remembered() const {
  const std::lock_guard lock(mutex_);
  return answers_.size();
}

// Changes when the store does. A database's is looked at anew every minute, whether or not it changed; each
// time for those who want no point to wait.
std::string Estimator::stamp() const {
  std::string text;
  if (is_server(store_)) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::to_string(refresh_s_ > 0 ? now / std::chrono::minutes(1) : now.count());
  }
  for (const char* ending : {"", "-wal"}) {
    struct stat s {};
    if (stat((store_ + ending).c_str(), &s) != 0) continue;
    text += std::to_string(s.st_ino) + "," + std::to_string(s.st_size) + "," +
            std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec) + ";";
  }
  return text;
}

// What was fitted before is fitted anew after a change, but no more often than every few seconds: while
// somebody profiles, a point comes every second.
void Estimator::look_at_store() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  // Fitting anew takes a tenth of the time at most, and two minutes old is the oldest.
  const double wait_s = refresh_s_ > 0 ? std::max(refresh_s_, std::min(120.0, 10 * fitting_s_)) : 0;
  if (now - looked_ < std::chrono::duration<double>(wait_s)) return require_store();
  looked_ = now;
  std::string found = stamp();
  if (found == stamp_) return require_store();
  fitting_s_ = 0;
  stamp_ = std::move(found);
  ++generation_;
  devices_.reset();
  store_counts_.reset();
  answers_.clear();
  measured_.clear();
  std::erase_if(slots_, [](const auto& entry) { return !is_sheet_name(entry.first); });
  require_store();
}

// One that was never there is a new one, which is empty. One that has gone is somebody's mistake.
void Estimator::require_store() {
  seen_ = seen_ || !stamp_.empty();
  if (seen_ && stamp_.empty())
    throw HttpError(503, "failed", "the store of this server is gone; put it back, or start the server anew");
}

std::optional<std::string> sheet_of(const std::string& device) {
  if (!is_sheet_name(device)) return std::nullopt;
  std::string name = device.substr(sizeof kSheet - 1);
  const auto known = data_sheet_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  throw bad_input("there is no data sheet \"" + name + "\" (known: " + list + ")");
}

std::shared_ptr<Estimator::Slot> Estimator::slot(const std::string& device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = slots_.find(device); found != slots_.end()) return found->second;
  }
  std::shared_ptr<Slot> made;
  if (const std::optional<std::string> sheet = sheet_of(device)) {
    made = std::make_shared<Slot>(Device::from_sheet(*sheet));
    made->sheet = find_data_sheet(*sheet);
  } else {
    made = std::make_shared<Slot>(Device::stored(store_, device));
  }
  const std::lock_guard lock(mutex_);
  return slots_.emplace(device, made).first->second;
}

std::shared_ptr<const Estimator::Told> Estimator::told(const std::string& device,
                                                       const ServedNetwork& network,
                                                       const TrainingSetup& setup,
                                                       const EstimateOptions& options) {
  const std::string key = question(device, network, setup, options);
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* known = answers_.find(key)) {
      ++counts_.remembered;
      return *known;
    }
    generation = generation_;
  }
  const std::shared_ptr<Slot> s = slot(device);
  const std::lock_guard turn(s->mutex);
  {
    const std::lock_guard lock(mutex_);  // whoever had the turn before may have asked the same
    if (const auto* known = answers_.find(key)) {
      ++counts_.remembered;
      return *known;
    }
  }
  if (++s->fitted > kMostFitted) {
    DeviceAccess::forget_models(s->device);
    s->fitted = 1;
  }
  const auto start = std::chrono::steady_clock::now();
  auto made = std::make_shared<Told>();
  EstimateAnswer& a = made->served.answer;
  a.device = DeviceAccess::stored(s->device);
  a.sheet = s->sheet;
  a.model = network.loaded.network.name();
  a.setup = setup;
  a.mode = options.mode;
  const Network& graph = network.loaded.network;
  std::size_t layers = 0;
  try {
    check(setup);
    check(options);
    parse_layers(graph, setup.batch);
    a.estimate = estimate_model(DeviceAccess::profile(s->device, setup.recipe), graph, setup, options);
    a.memory =
        judge_memory(graph, setup, memory_place_of(a.device.fingerprint), DeviceAccess::memory(s->device));
    if (!s->sheet && !setup.recipe.autotune) {
      Recipe tuned = setup.recipe;
      tuned.autotune = true;
      a.tuned = with_autotune(DeviceAccess::profile(s->device, tuned), graph, setup.batch, options);
    }
    layers = a.estimate.layers.size();
    made->served.layers = std::make_shared<std::string>(
        to_json(a.estimate.layers).dump(-1, ' ', false, Json::error_handler_t::replace));
    a.estimate.layers.clear();
    if (a.tuned) a.tuned->layers.clear();
    ++counts_.computed;
  } catch (const Error& e) {
    ++counts_.refused;
    std::string more;
    if (e.kind() == ErrorKind::kNotProfiled) {
      more = s->sheet ? "\nand a data sheet does not tell them: measure them on the device"
                      : other_precision(DeviceAccess::store(s->device), a.device, graph, setup, options);
    }
    made->refused = Error(e.kind(), e.what() + more);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::lock_guard lock(mutex_);
  fitting_s_ += took.count();
  if (generation != generation_) return made;
  if (!made->refused && !a.sheet) {
    auto& [sum, count] = measured_[{a.device.fingerprint.value("name", "?"), a.device.id}];
    sum += 1 - a.estimate.unmeasured;
    ++count;
  }
  answers_.put(key, made, 8 + layers);
  return made;
}

ServedEstimate Estimator::answer(const std::string& device, const ServedNetwork& network,
                                 const TrainingSetup& setup, const EstimateOptions& options) {
  look_at_store();
  const auto known = told(whole_id(device), network, setup, options);
  if (known->refused) throw Error(*known->refused);
  return known->served;
}

std::map<std::pair<std::string, std::string>, double> Estimator::coverage() const {
  const std::lock_guard lock(mutex_);
  std::map<std::pair<std::string, std::string>, double> shares;
  for (const auto& [device, sum] : measured_) shares[device] = sum.first / sum.second;
  return shares;
}

// Of what may be its beginning: or each would be fitted for itself.
std::string Estimator::whole_id(const std::string& device) {
  if (device.empty() || is_sheet_name(device)) return device;
  const auto known = devices();
  for (const std::string& id : known->ids) {
    if (id.rfind(device, 0) == 0) return id;
  }
  return device;
}

Json Estimator::store_counts() {
  look_at_store();
  {
    const std::lock_guard lock(mutex_);
    if (store_counts_) return *store_counts_;
  }
  Json counts = store_json(to_serve(store_));
  const std::lock_guard lock(mutex_);
  store_counts_ = counts;
  return counts;
}

std::shared_ptr<const KnownDevices> Estimator::devices() {
  look_at_store();
  const std::lock_guard turn(
      listing_);  // a store of many points takes seconds, which need not be spent by each
  {
    const std::lock_guard lock(mutex_);
    if (devices_) return devices_;
  }
  auto known_devices = std::make_shared<KnownDevices>();
  const Store store = to_serve(store_);
  Json devices = Json::array();
  for (const StoredDevice& d : store.devices()) {
    if (!d.problem.empty()) continue;
    std::map<std::string, std::pair<int, int>> recipes;  // kinds and points
    int points = 0, kinds = 0;
    for (const SurfaceCount& s : store.surfaces(d.id)) {
      recipes[s.recipe].first += 1;
      recipes[s.recipe].second += s.points;
      points += s.points;
      ++kinds;
    }
    known_devices->ids.push_back(d.id);
    if (points > 0) known_devices->measured.push_back(d.id);
    Json known = Json::array();
    for (const auto& [recipe, n] : recipes)
      known.push_back({{"recipe", recipe}, {"kinds", n.first}, {"points", n.second}});
    devices.push_back({{"id", d.id},
                       {"name", d.fingerprint.value("name", "?")},
                       {"meter", d.fingerprint.value("meter", "?")},
                       {"modelled", d.fingerprint.value("meter", "") == "cpu-model"},
                       {"type", d.fingerprint.value("type", "")},
                       {"fingerprint", d.fingerprint},
                       {"last_used", d.last_used},
                       {"recipes", known},
                       {"kinds", kinds},
                       {"points", points}});
  }
  Json sheets = Json::array();
  for (const std::string& name : data_sheet_names()) {
    const DataSheet sheet = find_data_sheet(name);
    sheets.push_back({{"id", kSheet + name},
                      {"name", sheet.name},
                      {"accelerator", sheet.accelerator},
                      {"source", sheet.source}});
  }
  known_devices->told = {{"schema_version", kOutputSchemaVersion}, {"devices", devices}, {"sheets", sheets}};
  const std::lock_guard lock(mutex_);
  devices_ = known_devices;
  return known_devices;
}

Json Estimator::knowledge(const std::string& device, const Recipe& recipe, Networks& networks) {
  const auto stored = devices();
  const auto begins = [&](const std::string& id) { return id.rfind(device, 0) == 0; };
  const std::vector<std::string> sheets = data_sheet_names();
  const bool is_sheet = is_sheet_name(device) && std::find(sheets.begin(), sheets.end(),
                                                           device.substr(sizeof kSheet - 1)) != sheets.end();
  if (!is_sheet && std::none_of(stored->ids.begin(), stored->ids.end(), begins))
    throw HttpError(404, "not_found",
                    "there is no device " + capped(device, 100) + " here; GET /api/v1/devices lists them");
  Json known = Json::array();
  double measured = 0;
  int count = 0;
  const std::int64_t batch = 32;
  for (const ZooEntry& entry : zoo()) {
    check_deadline();
    const ServedNetworkPtr network = networks.find({{"zoo", entry.name}}, {}, true);
    Json one = {{"model", entry.name}, {"batch", batch}};
    try {
      const EstimateAnswer a = answer(device, *network, {batch, recipe}, {}).answer;
      const Interval& energy = a.estimate.energy_j;
      one["energy_j"] = energy.value;
      one["half_width"] = energy.value > 0 ? energy.high / energy.value - 1 : 0;
      one["unmeasured"] = a.estimate.unmeasured;
      if (a.estimate.gain) {
        one["gain"] = {
            {"layers", a.estimate.gain->layers},
            {"time_s", a.estimate.gain->seconds},
            {"half_width", energy.value > 0 ? a.estimate.gain->energy_j.high / energy.value - 1 : 0}};
      }
      measured += 1 - a.estimate.unmeasured;
      ++count;
    } catch (const Error& e) {
      one["problem"] = to_word(e.kind());
    }
    known.push_back(one);
  }
  return {{"device_id", device},
          {"recipe", recipe.word()},
          {"coverage", count > 0 ? Json(measured / static_cast<double>(zoo().size())) : Json(0)},
          {"told", count},
          {"networks", known}};
}

}  // namespace ampere
