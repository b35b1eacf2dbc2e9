#include "meter/hwmon_rails.h"

#include <algorithm>

#include "base/error.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

// Rails that are the whole module, in the order of preference; none of a set is fed by another of the same
// set. Sources: testdata/README.md.
const std::vector<std::vector<std::string>>& known_totals() {
  static const std::vector<std::vector<std::string>> totals = {
      {"VDD_IN"},                                     // Orin NX, Orin Nano, Xavier NX, TX2, TX1
      {"POM_5V_IN"},                                  // Nano
      {"5V_IN"},                                      // Xavier NX in older documentation
      {"VIN"},                                        // Thor (INA238)
      {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"},   // AGX Orin
      {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"},  // AGX Xavier
  };
  return totals;
}

bool has(const std::vector<Rail>& rails, const std::string& name) {
  return std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) { return rail.name == name; });
}

void add_rail(std::vector<Rail>& rails, Rail rail) {
  if (!rail.name.empty() && rail.name != "NC" && !has(rails, rail.name)) rails.push_back(std::move(rail));
}

void add_hwmon(const fs::path& folder, std::vector<Rail>& rails) {
  const std::string chip = read_text(folder / "name").value_or("");
  if (chip == "ina238") {
    // One channel; the kernel gives it a label only where the device tree does.
    add_rail(rails, {read_text(folder / "label").value_or("VIN"), folder / "power1_input", 1e-6, {}, {}});
  }
  if (chip.rfind("ina3221", 0) != 0) return;
  for (const char channel : {'1', '2', '3'}) {
    const std::string number(1, channel);
    const auto label = read_text(folder / ("in" + number + "_label"));
    if (!label || read_text(folder / ("in" + number + "_enable")).value_or("1") == "0") continue;
    add_rail(rails,
             {*label, {}, 0, folder / ("in" + number + "_input"), folder / ("curr" + number + "_input")});
  }
}

void add_iio(const fs::path& folder, std::vector<Rail>& rails) {
  for (const char channel : {'0', '1', '2'}) {
    const std::string number(1, channel);
    const auto label = read_text(folder / ("rail_name_" + number));
    if (label) add_rail(rails, {*label, folder / ("in_power" + number + "_input"), 1e-3, {}, {}});
  }
}

double number_in(const fs::path& file, const std::string& rail) {
  const auto value = read_number(file);
  if (!value) {
    throw Error(ErrorKind::kNoMeter, "meter hwmon: rail " + rail + " cannot be read from " + file.string() +
                                         "; if that is a matter of permission: sudo chmod a+r " +
                                         file.string());
  }
  return *value;
}

std::string names_of(const std::vector<Rail>& rails) {
  std::string names;
  for (const Rail& rail : rails) names += (names.empty() ? "" : ", ") + rail.name;
  return names;
}

std::vector<Rail> pick(const std::vector<Rail>& rails, const std::vector<std::string>& names) {
  std::vector<Rail> picked;
  for (const Rail& rail : rails) {
    if (std::find(names.begin(), names.end(), rail.name) != names.end()) picked.push_back(rail);
  }
  return picked;
}

}  // namespace

std::vector<Rail> find_rails(const fs::path& root) {
  std::vector<Rail> rails;
  for (const fs::path& folder : entries_of(root / "class/hwmon")) add_hwmon(folder, rails);
  for (const char* driver : {"ina3221x", "ina3221"}) {
    for (const fs::path& chip : entries_of(root / "bus/i2c/drivers" / driver)) {
      for (const fs::path& folder : entries_of(chip)) {
        if (folder.filename().string().rfind("iio", 0) == 0) add_iio(folder, rails);
      }
    }
  }
  return rails;
}

Watts power_of(const Rail& rail) {
  if (!rail.power.empty()) return Watts(number_in(rail.power, rail.name) * rail.watts_per_unit);
  return Watts(1e-6 * number_in(rail.millivolts, rail.name) * number_in(rail.milliamperes, rail.name));
}

std::vector<Rail> choose_rails(const std::vector<Rail>& rails, const std::string& wanted) {
  if (rails.empty()) {
    throw Error(
        ErrorKind::kNoMeter,
        "meter hwmon: no INA3221 or INA238 power monitor found; this is for Jetson and similar boards");
  }
  const std::vector<std::string> names = split_words(wanted, ',');
  for (const std::string& name : names) {
    if (!has(rails, name)) {
      throw bad_input("AMPERE_JETSON_RAILS asks for rail '" + name + "'; this board has " + names_of(rails));
    }
  }
  if (!names.empty()) return pick(rails, names);
  for (const std::vector<std::string>& total : known_totals()) {
    std::vector<Rail> picked = pick(rails, total);
    if (picked.size() == total.size()) return picked;
  }
  throw Error(
      ErrorKind::kNoMeter,
      "meter hwmon: which rails make up this board's total is not known; it has " + names_of(rails) +
          ". Say which to add up, none fed by another: export AMPERE_JETSON_RAILS=" + rails.front().name);
}

}  // namespace ampere
