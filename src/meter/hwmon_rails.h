// The power rails of a board: INA3221 and INA238 monitors as the kernel shows them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"

namespace ampere {

// One rail. Power is read from a file of its own, or is the product of voltage and current.
struct Rail {
  std::string name;             // "VDD_IN"
  std::filesystem::path power;  // empty: use the two below
  double watts_per_unit = 0;    // of `power`: 1e-6 in hwmon, 1e-3 in iio
  std::filesystem::path millivolts;
  std::filesystem::path milliamperes;
};

// All rails under `root`: class/hwmon/hwmon*/ (name ina3221 or ina238) and, for kernels before 5, the iio
// folders of bus/i2c/drivers/ina3221x/*/iio*/. A rail that both show is listed once.
std::vector<Rail> find_rails(const std::filesystem::path& root);

// Throws Error{kNoMeter} when the rail cannot be read any more.
Watts power_of(const Rail& rail);

// The rails that together are the whole module: those named in `wanted` ("VDD_IN,VDD_MUX"; the content of
// AMPERE_JETSON_RAILS), else the total rail where there is one, else the set known for the board. Throws
// Error{kBadInput} for a wanted rail that is not there, Error{kNoMeter} for a board nobody has told us about.
std::vector<Rail> choose_rails(const std::vector<Rail>& rails, const std::string& wanted);

}  // namespace ampere
