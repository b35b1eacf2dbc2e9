#include "model/device_profile.h"

#include <algorithm>

#include "base/error.h"
#include "base/statistics.h"
#include "model/fitted_models.h"
#include "model/layer_work.h"

namespace ampere {
namespace {

// The fact that makes a device one that is nothing but its sheet.
constexpr const char* kSheetFact = "sheet";
constexpr const char* kSheetMeter = "data sheet";

}  // namespace

std::optional<double> value_of(const Measurement& m, Quantity quantity) {
  switch (quantity) {
    case Quantity::kEnergy:
      return m.energy_j;
    case Quantity::kTime:
      return m.time_s;
    default:
      return m.host_s;
  }
}

DeviceProfile::DeviceProfile(Store& store, std::string device, std::string recipe)
    : store_(store),
      device_(std::move(device)),
      recipe_(std::move(recipe)),
      fitted_(std::make_unique<FittedModels>()) {}

DeviceProfile::~DeviceProfile() = default;

const std::vector<StoredPoint>& DeviceProfile::points(const std::string& surface) const {
  auto it = points_.find(surface);
  if (it == points_.end()) it = points_.emplace(surface, store_.points(device_, recipe_, surface)).first;
  return it->second;
}

void DeviceProfile::fetch(const std::vector<std::string>& surfaces) const {
  std::vector<std::string> unread;
  for (const std::string& surface : surfaces) {
    if (points_.count(surface) == 0) unread.push_back(surface);
  }
  if (unread.size() < 2) return;
  try {
    std::map<std::string, std::vector<StoredPoint>> found;
    for (const std::string& surface : unread) found[surface];
    for (StoredPoint& point : store_.points(device_, recipe_, unread))
      found[point.surface].push_back(std::move(point));
    points_.merge(found);
  } catch (const Error&) {  // told when that very surface is asked for
  }
}

std::optional<Json> DeviceProfile::fact_under(const std::string& recipe, const std::string& name) const {
  if (!facts_) {
    try {
      std::map<std::pair<std::string, std::string>, Json> found;
      for (StoredFact& f : store_.facts(device_, recipe_, {kSheetFact}))
        found.emplace(std::pair(f.recipe, f.name), std::move(f.value));
      facts_ = std::move(found);
    } catch (const Error&) {  // one of them cannot be true, perhaps another one
      return store_.fact(device_, recipe, name);
    }
  }
  const auto it = facts_->find({recipe, name});
  return it == facts_->end() ? std::nullopt : std::optional(it->second);
}

std::optional<Json> DeviceProfile::fact(const std::string& name) const { return fact_under(recipe_, name); }

const std::optional<StoredDevice>& DeviceProfile::stored() const {
  if (!stored_) stored_ = store_.device(device_);
  return stored_;
}

void DeviceProfile::add_point(const StoredSurface& surface, Channels channels, const std::string& variant,
                              const Measurement& measurement) {
  StoredPoint kept =
      store_.add_point(device_, recipe_, surface, {surface.name, channels, variant, measurement, ""});
  // Those that were read before are not read again: a server may be away. Others are read when they are asked
  // for.
  if (const auto known = points_.find(surface.name); known != points_.end())
    known->second.push_back(std::move(kept));
  ++added_;
  surfaces_.reset();
}

const std::vector<SurfaceCount>& DeviceProfile::surfaces() const {
  if (!surfaces_) surfaces_ = store_.surfaces(device_);
  return *surfaces_;
}

const std::vector<std::string>& DeviceProfile::alike() const {
  if (alike_) return *alike_;
  std::vector<std::string> found;
  for (const std::string& recipe : store_.recipes(device_)) {
    if (recipe != recipe_ && shares_calls(recipe, recipe_, call_style().accelerator)) found.push_back(recipe);
  }
  return alike_.emplace(std::move(found));
}

const std::vector<StoredPoint>& DeviceProfile::empties() const {
  const std::vector<StoredPoint>& own = points(empty_surface().name);
  if (!own.empty()) return own;
  if (!others_empties_) {
    others_empties_.emplace();
    for (const std::string& recipe : alike()) {
      *others_empties_ = store_.points(device_, recipe, empty_surface().name);
      if (!others_empties_->empty()) break;
    }
  }
  return *others_empties_;
}

const CallStyle& DeviceProfile::call_style() const {
  if (!style_) {
    style_.emplace();
    if (stored()) style_ = call_style_of(stored()->fingerprint);
  }
  return *style_;
}

double DeviceProfile::empty(Quantity quantity) const {
  std::vector<double> values;
  for (const StoredPoint& p : empties()) {
    if (auto v = value_of(p.measurement, quantity)) values.push_back(*v);
  }
  if (!values.empty()) return median(std::move(values));
  return quantity == Quantity::kHost && is_sheet() ? sheet()->step_host_s() : 0;
}

Store store_of_sheet(const DataSheet& sheet) {
  Store store(":memory:");
  const std::string id = store.add_device(
      {{"name", sheet.name}, {"type", sheet.accelerator ? "cuda" : "cpu"}, {"meter", kSheetMeter}});
  store.put_fact(id, "", kSheetFact, to_json(sheet));
  if (sheet.memory_bytes > 0) store.put_fact(id, "", kMemoryFact, {{"bytes", sheet.memory_bytes}});
  return store;
}

const std::optional<DataSheet>& DeviceProfile::sheet() const {
  if (!sheet_) {
    const auto stated = fact_under("", kSheetFact);
    const bool named = stored() && stored()->problem.empty();
    is_sheet_ = stated.has_value();
    sheet_ = stated ? data_sheet_from(*stated, store_.path() + ": the data sheet of " + device_)
                    : data_sheet_of_device(named ? stored()->fingerprint.value("name", "") : "");
  }
  return *sheet_;
}

bool DeviceProfile::is_sheet() const { return sheet() && is_sheet_; }

bool DeviceProfile::two_clocks() const {
  if (is_sheet()) return sheet()->accelerator;
  const auto& seen = empties();
  return std::any_of(seen.begin(), seen.end(), [](const StoredPoint& p) { return p.measurement.host_s; });
}

std::optional<double> DeviceProfile::idle_power_w() const {
  auto idle = fact("idle");
  if (!idle) {
    for (const std::string& recipe : alike()) {
      idle = store_.fact(device_, recipe, "idle");
      if (idle) break;
    }
  }
  if (!idle) return is_sheet() ? std::optional<double>(sheet()->idle_w) : std::nullopt;
  return JsonReader(*idle, "idle").number("power_w");
}

void DeviceProfile::set_idle_power_w(double watts, bool is_modelled) {
  store_.put_fact(device_, recipe_, "idle",
                  {{"power_w", watts}, {"modelled", is_modelled}, {"measured_at", utc_now()}});
  forget_facts();
}

double DeviceProfile::fitting_seconds() const { return fitted_->seconds; }

}  // namespace ampere
