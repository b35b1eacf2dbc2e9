// What a power limit or a locked clock does to the energy and the time of an iteration (docs/tuning.md).
//
// At clock x (a share of the highest), with P1 the mean power of the network as the device comes:
//
//   time(x)   = time(1) ((1 + (k/x)^(q p)) / (1 + k^(q p)))^(1/p)
//   energy(x) = P0 time(x) + (energy(1) - P0 time(1)) V2(x)
//   V2(x)     = max(floor, 1 - slope (1 - x)), smoothed, over its value at 1
//
// Above the knee k the memory decides how long it takes, below it the clock; P0 is drawn anyway, and work
// takes energy by the square of the voltage, which has a floor. A power limit L chooses the largest x whose
// mean power is at most o L (o: how far means exceed limits, by the meter). A locked clock costs a factor in
// energy and one in time on top: it cannot follow the work as a free one does. P0, slope, floor, q, p, o and
// the two factors are the device's, the knee is the network's, around one of the device.
#pragma once

#include <Eigen/Core>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ampere {

struct PowerSetting {
  double limit_w = 0;    // 0: as the device comes
  double clock_mhz = 0;  // 0: as the device comes

  bool as_it_comes() const { return limit_w == 0 && clock_mhz == 0; }
  std::string text() const;  // "300 W", "1300 MHz", "as it comes"
  friend bool operator==(const PowerSetting&, const PowerSetting&) = default;
};

// One network trained under one setting.
struct LeverRow {
  std::string network;  // name, batch and precision in one word: what has the same knee
  PowerSetting setting;
  double energy_j = 0;  // of an iteration
  double time_s = 0;
};

struct LeverDevice {
  std::string name;
  double most_clock_mhz = 0;  // 0: not known, and clocks cannot be told
  double usual_limit_w = 0;   // what it comes with
  double least_limit_w = 0;   // below it nothing was seen, and it is not told
};

// By what factors an iteration changes against the device as it comes.
struct Stretch {
  double energy = 1;
  double time = 1;
  double energy_deviation = 0;  // of the logarithms
  double time_deviation = 0;
  double clock = 1;  // share of the highest that it will run at
};

class LeverModel {
 public:
  // Fits to these rows, by least squares on logarithms with what is believed beforehand; a network with rows
  // needs one as the device comes. Rows of other networks than those asked for teach the device. Throws
  // Error{kBadInput} for rows that make no sense.
  LeverModel(LeverDevice device, const std::vector<LeverRow>& rows);

  // Of a network that draws `usual_power_w` as the device comes. `network`: its own rows, where it has some,
  // tell its knee. Throws Error{kBadInput} for settings outside what was seen.
  Stretch under(const PowerSetting& setting, double usual_power_w, const std::string& network = "") const;
  // The same for a network with rows, from what the fit says of it as the device comes.
  Stretch under(const PowerSetting& setting, const std::string& network) const;

  const LeverDevice& device() const { return device_; }
  // The same levers on a device of which no row is known: limits count as shares of what it comes with, and
  // nothing is as sure.
  LeverModel on(const LeverDevice& other) const;

  // What was learned.
  double static_w() const;
  double overshoot() const;
  double knee() const;
  double lock_energy() const;  // what locking the clock costs besides lowering it, as factors
  double lock_time() const;
  double misfit() const { return misfit_; }  // deviation of the logarithms of rows from the fit

 private:
  Stretch stretch(const PowerSetting& setting, double usual_power_w, double log_knee,
                  Eigen::Index knee_at) const;
  void check(const PowerSetting& setting) const;

  LeverDevice device_;
  Eigen::VectorXd parameters_;
  Eigen::MatrixXd covariance_;
  std::map<std::string, Eigen::Index> networks_;  // where a network's parameters begin
  double misfit_ = 0;
  double foreign_ = 0;  // deviation added on a device that none of the rows is of
};

// Rows as JSON lines: name, batch, precision, limit_w or clock_mhz, joules, seconds. Lines with neither a
// limit nor a clock are left out. Throws Error{kBadInput} that names the line.
std::vector<LeverRow> read_lever_rows(const std::string& text, const std::string& what);

// The device whose rows are part of this library (results/h200/limits.jsonl), and its levers; fitted once.
const LeverModel& known_levers();
// The levers of a device by the name its driver gives; with `usual_limit_w` also of one that nobody varied.
// Absent: nothing tells them.
std::optional<LeverModel> levers_of(const std::string& device_name, double usual_limit_w = 0);

}  // namespace ampere
