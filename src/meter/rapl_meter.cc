#include "meter/rapl_meter.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "base/error.h"
#include "meter/cpu_state.h"
#include "meter/repeater.h"
#include "meter/sysfs.h"
#include "meter/wrapping_counter.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

constexpr Watts kFastest{1000};       // a package that draws this much must not wrap between two looks
constexpr Seconds kLongestPause{30};  // between two looks

[[noreturn]] void cannot_read(const fs::path& file, int error) {
  if (error == EACCES || error == EPERM) {
    no_meter("meter rapl",
             "no permission to read " + file.string() +
                 " (kernels since 5.10 keep it for root). Until the next boot: sudo chmod a+r "
                 "/sys/class/powercap/intel-rapl*/energy_uj; for good, a udev rule: SUBSYSTEM==\"powercap\", "
                 "ACTION==\"add\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"; or use --meter rapl-perf");
  }
  no_meter("meter rapl", file.string() + " cannot be read: " + std::generic_category().message(error));
}

struct Zone {
  fs::path folder;
  WrappingCounter counter;
};

std::uint64_t energy_uj(const fs::path& folder) {
  const SysfsText file = read_sysfs(folder / "energy_uj");
  if (!file.text) cannot_read(folder / "energy_uj", file.error);
  std::size_t used = 0;
  try {
    const std::uint64_t value = std::stoull(*file.text, &used);
    if (used == file.text->size()) return value;
  } catch (const std::exception&) {
    used = 0;
  }
  no_meter("meter rapl",
           (folder / "energy_uj").string() + " holds '" + *file.text + "', not a number of microjoules");
}

// "intel-rapl:0" and "intel-rapl-mmio:0" are zones, "intel-rapl:0:2" is one inside the first, "intel-rapl" is
// none.
bool is_zone(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.rfind("intel-rapl", 0) == 0 && name.find(':') != std::string::npos;
}

// What a zone measures, the same for both drivers: "package-0", "package-0/dram", "psys".
std::string what_it_measures(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string own = read_text(folder / "name").value_or("");
  const std::size_t colon = name.find(':');
  const std::size_t second = name.find(':', colon + 1);
  if (second == std::string::npos) return own;
  return read_text(folder.parent_path() / name.substr(0, second) / "name").value_or("") + "/" + own;
}

bool is_dram(const std::string& what) { return what.size() > 5 && what.substr(what.size() - 5) == "/dram"; }

// Chosen zones by what they measure. Sorted names put "intel-rapl-mmio:0" before "intel-rapl:0"; the MSR one
// is preferred, so it overwrites.
std::map<std::string, fs::path> choose_zones(const fs::path& root) {
  std::map<std::string, fs::path> packages;
  std::map<std::string, fs::path> psys;
  for (const fs::path& folder : entries_of(root / "class/powercap")) {
    if (!is_zone(folder)) continue;
    const std::string what = what_it_measures(folder);
    if (what == "psys") psys[what] = folder;
    if ((what.rfind("package", 0) == 0 && what.find('/') == std::string::npos) || is_dram(what)) {
      packages[what] = folder;
    }
  }
  return packages.empty() ? psys : packages;
}

class RaplMeter : public Meter {
 public:
  explicit RaplMeter(const fs::path& root) : root_(root) {
    const auto chosen = choose_zones(root);
    if (chosen.empty()) {
      no_meter("meter rapl", "no RAPL zones under " + (root / "class/powercap").string() +
                                 ". On a real Intel or AMD machine: sudo modprobe intel_rapl_msr "
                                 "(intel_rapl_common before that); a "
                                 "virtual machine has none, use --meter cpu-model");
    }
    std::string list;
    Seconds pause = kLongestPause;
    for (const auto& [what, folder] : chosen) {
      const auto range = read_integer(folder / "max_energy_range_uj");
      if (!range || *range <= 0)
        no_meter("meter rapl", (folder / "max_energy_range_uj").string() + " cannot be read");
      zones_.push_back({folder, WrappingCounter(static_cast<std::uint64_t>(*range), "meter rapl: " + what)});
      pause = std::min(pause, Joules(1e-6 * static_cast<double>(*range)) / kFastest / 2);
      list += (list.empty() ? "" : ", ") + what;
    }
    info_ = {"rapl", chosen.count("psys") != 0 ? "board" : "package", false, "RAPL counters of " + list};
    update();
    poll_ = std::make_unique<Repeater>(pause, [this] {
      const std::lock_guard lock(mutex_);
      try {
        if (!failed_) update();
      } catch (...) {
        failed_ = std::current_exception();
      }
    });
  }
  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    const std::lock_guard lock(mutex_);
    if (failed_) std::rethrow_exception(failed_);
    return update();
  }
  DeviceState state() override { return cpu_state(root_); }

 private:
  Reading update() {
    Reading reading{Joules(0), now()};
    for (Zone& zone : zones_) {
      zone.counter.update(energy_uj(zone.folder), now());
      reading.energy += zone.counter.total();
    }
    return reading;
  }

  fs::path root_;
  MeterInfo info_;
  std::mutex mutex_;
  std::exception_ptr failed_;
  std::vector<Zone> zones_;
  std::unique_ptr<Repeater> poll_;  // last, so that its thread ends first
};

}  // namespace

std::unique_ptr<Meter> make_rapl_meter(const fs::path& root) { return std::make_unique<RaplMeter>(root); }

}  // namespace ampere
