#include "tune/lever_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <sstream>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "base/json.h"

AMPERE_EMBEDDED(limits, AMPERE_LIMITS)

namespace ampere {
namespace {

// What all networks of a device share, as logarithms, and where a network's own begin.
enum Shared : Eigen::Index {
  kStatic,
  kSlope,
  kFloor,
  kClockPower,
  kSharpness,
  kOvershoot,
  kKnee,
  kLockEnergy,
  kLockTime,
  kSharedCount
};
enum Own : Eigen::Index { kOwnEnergy, kOwnTime, kOwnKnee, kOwnCount };

struct Belief {
  double value;
  double deviation;  // of the logarithm
};
// Before anything was seen. The first is a share of the power limit.
constexpr Belief kBeliefs[kSharedCount] = {{0.14, 0.4},  {1.0, 0.3},   {0.5, 0.3},  {1.1, 0.1}, {5.0, 0.5},
                                           {1.05, 0.05}, {0.82, 0.15}, {1.0, 0.03}, {1.0, 0.03}};
constexpr double kKneeSpread = 0.08;       // of the logarithms of networks' knees around the device's
constexpr double kRowDeviation = 0.02;     // of the logarithm of a row: noise and what the form misses
constexpr double kAnchorDeviation = 0.03;  // of a network as the device comes around its rows so
constexpr double kHuber = 2.5;             // residuals beyond so many deviations count linearly
constexpr double kSmooth = 0.03;           // width of the bend of the voltage
constexpr double kLeastClock = 0.2;
constexpr int kBisections = 34;
constexpr int kMostIterations = 60;
constexpr double kForeignDeviation = 0.08;
// Parts of an iteration draw more than its mean: a limit that the mean reaches to this share may bind for
// them.
constexpr double kNear = 0.6;

struct LeverShape {
  double static_w, slope, floor, clock_power, sharpness, overshoot, lock_energy, lock_time;
};

LeverShape shape_of(const Eigen::VectorXd& z) {
  return {std::exp(z[kStatic]),     std::exp(z[kSlope]),     std::exp(z[kFloor]),
          std::exp(z[kClockPower]), std::exp(z[kSharpness]), std::exp(z[kOvershoot]),
          std::exp(z[kLockEnergy]), std::exp(z[kLockTime])};
}

double voltage_squared(const LeverShape& s, double x) {
  const double above = (1 - s.slope * (1 - x) - s.floor) / kSmooth;
  return s.floor + kSmooth * (above > 30 ? above : std::log1p(std::exp(above)));
}

struct Factors {
  double energy, time;
};

Factors at_clock(const LeverShape& s, double x, double knee, double usual_power_w) {
  const double qp = s.clock_power * s.sharpness;
  const double time = std::pow((1 + std::pow(knee / x, qp)) / (1 + std::pow(knee, qp)), 1 / s.sharpness);
  // A network that draws less than the device does anyway has no work that a voltage could change.
  const double fixed = std::min(1.0, s.static_w / usual_power_w);
  const double work = voltage_squared(s, x) / voltage_squared(s, 1);
  return {fixed * time + (1 - fixed) * work, time};
}

double clock_under(const LeverShape& s, double limit_w, double knee, double usual_power_w) {
  const double most_w = s.overshoot * limit_w;
  if (usual_power_w <= most_w) return 1;
  double low = kLeastClock, high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    const Factors f = at_clock(s, middle, knee, usual_power_w);
    (usual_power_w * f.energy / f.time > most_w ? high : low) = middle;
  }
  return low;
}

double clock_of(const LeverShape& s, const LeverDevice& device, const PowerSetting& setting, double knee,
                double usual_power_w) {
  double x = setting.clock_mhz > 0 ? std::min(1.0, setting.clock_mhz / device.most_clock_mhz) : 1;
  if (setting.limit_w > 0) x = std::min(x, clock_under(s, setting.limit_w, knee, usual_power_w));
  return x;
}

struct Told {
  Factors factors;
  double clock;
};

Told told_by(const LeverShape& s, const LeverDevice& device, const PowerSetting& setting, double knee,
             double usual_power_w) {
  const double x = clock_of(s, device, setting, knee, usual_power_w);
  Factors f = at_clock(s, x, knee, usual_power_w);
  // A locked clock cannot follow what the work needs, as a free one does, even where both are the same on
  // average.
  if (setting.clock_mhz > 0) f = {f.energy * s.lock_energy, f.time * s.lock_time};
  return {f, x};
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Residuals and, by differences, their slopes; least squares with a damped Gauss-Newton step.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

Eigen::MatrixXd slopes(const Residuals& residuals, const Eigen::VectorXd& z, const Eigen::VectorXd& at) {
  constexpr double kStep = 1e-5;
  Eigen::MatrixXd j(at.size(), z.size());
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    Eigen::VectorXd up = z, down = z;
    up[i] += kStep;
    down[i] -= kStep;
    j.col(i) = (residuals(up) - residuals(down)) / (2 * kStep);
  }
  return j;
}

struct LeverFit {
  Eigen::VectorXd z;
  Eigen::MatrixXd information;  // of the residuals there
};

// The square root of Huber's loss, so that its square is what is minimised.
double tamed(double residual) {
  const double size = std::abs(residual);
  return size <= kHuber ? residual : std::copysign(std::sqrt(kHuber * (2 * size - kHuber)), residual);
}

LeverFit least_squares(const Residuals& residuals, Eigen::VectorXd z) {
  Eigen::VectorXd r = residuals(z);
  double loss = r.squaredNorm(), damping = 1e-3;
  for (int i = 0; i < kMostIterations; ++i) {
    const Eigen::MatrixXd j = slopes(residuals, z, r);
    const Eigen::MatrixXd a = j.transpose() * j;
    const Eigen::VectorXd g = j.transpose() * r;
    bool better = false;
    for (int tries = 0; tries < 12 && !better; ++tries) {
      Eigen::MatrixXd damped = a;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd next = z - damped.ldlt().solve(g);
      const Eigen::VectorXd there = residuals(next);
      better = there.allFinite() && there.squaredNorm() < loss;
      if (better) {
        z = next;
        r = there;
      }
      damping = better ? std::max(1e-9, damping / 5) : damping * 4;
    }
    const double gain = loss - r.squaredNorm();
    loss = r.squaredNorm();
    if (!better || gain < 1e-9 * (1 + loss)) break;
  }
  const Eigen::MatrixXd j = slopes(residuals, z, r);
  return {std::move(z), j.transpose() * j};
}

void check_row(const LeverRow& row, const LeverDevice& device) {
  const auto positive = [](double v) { return v > 0 && std::isfinite(v); };
  if (!positive(row.energy_j) || !positive(row.time_s))
    throw bad_input(row.network + " under " + row.setting.text() + ": energy and time must be positive");
  if (row.setting.clock_mhz > 0 && !(device.most_clock_mhz > 0))
    throw bad_input(row.network + ": a row at a clock needs the device's highest clock");
}

// One network's rows as the device comes; the middle one of several stands for all.
const LeverRow& usual_row(const std::vector<const LeverRow*>& rows, const LeverDevice& device) {
  std::vector<const LeverRow*> usual;
  for (const LeverRow* row : rows) {
    if (row->setting.clock_mhz == 0 &&
        (row->setting.limit_w == 0 || row->setting.limit_w >= device.usual_limit_w))
      usual.push_back(row);
  }
  if (usual.empty())
    throw bad_input(rows.front()->network + " has no row as " + device.name +
                    " comes, which the others are compared with");
  std::sort(usual.begin(), usual.end(),
            [](const LeverRow* a, const LeverRow* b) { return a->energy_j < b->energy_j; });
  return *usual[(usual.size() - 1) / 2];
}

}  // namespace

std::string PowerSetting::text() const {
  std::string text;
  if (limit_w > 0) text = number_text(limit_w) + " W";
  if (clock_mhz > 0) text += (text.empty() ? "" : ", ") + number_text(clock_mhz) + " MHz";
  return text.empty() ? "as it comes" : text;
}

LeverModel::LeverModel(LeverDevice device, const std::vector<LeverRow>& rows) : device_(std::move(device)) {
  std::map<std::string, std::vector<const LeverRow*>> by_network;
  for (const LeverRow& row : rows) {
    check_row(row, device_);
    by_network[row.network].push_back(&row);
  }
  Eigen::VectorXd believed(kSharedCount), deviation(kSharedCount);
  for (Eigen::Index i = 0; i < kSharedCount; ++i) {
    believed[i] = std::log(kBeliefs[i].value * (i == kStatic ? device_.usual_limit_w : 1));
    deviation[i] = kBeliefs[i].deviation;
  }
  const auto count = static_cast<Eigen::Index>(by_network.size());
  Eigen::VectorXd start(kSharedCount + kOwnCount * count);
  start.head(kSharedCount) = believed;
  Eigen::Index next = kSharedCount;
  for (const auto& [name, own] : by_network) {
    const LeverRow& usual = usual_row(own, device_);
    networks_[name] = next;
    start[next + kOwnEnergy] = std::log(usual.energy_j);
    start[next + kOwnTime] = std::log(usual.time_s);
    start[next + kOwnKnee] = believed[kKnee];
    next += kOwnCount;
  }
  const auto row_count = static_cast<Eigen::Index>(rows.size());
  const Residuals residuals = [&](const Eigen::VectorXd& z) {
    Eigen::VectorXd r(2 * row_count + z.size());
    const LeverShape s = shape_of(z);
    Eigen::Index at = 0;
    for (const LeverRow& row : rows) {
      const Eigen::Index own = networks_.at(row.network);
      const double knee = std::exp(z[own + kOwnKnee]);
      const double power = std::exp(z[own + kOwnEnergy] - z[own + kOwnTime]);
      const Factors f = told_by(s, device_, row.setting, knee, power).factors;
      r[at++] = tamed((z[own + kOwnEnergy] + std::log(f.energy / row.energy_j)) / kRowDeviation);
      r[at++] = tamed((z[own + kOwnTime] + std::log(f.time / row.time_s)) / kRowDeviation);
    }
    for (Eigen::Index i = 0; i < kSharedCount; ++i) r[at++] = (z[i] - believed[i]) / deviation[i];
    for (Eigen::Index own = kSharedCount; own < z.size(); own += kOwnCount) {
      r[at++] = (z[own + kOwnEnergy] - start[own + kOwnEnergy]) / kAnchorDeviation;
      r[at++] = (z[own + kOwnTime] - start[own + kOwnTime]) / kAnchorDeviation;
      r[at++] = (z[own + kOwnKnee] - z[kKnee]) / kKneeSpread;
    }
    return r;
  };
  const LeverFit fit = least_squares(residuals, start);
  parameters_ = fit.z;
  const Eigen::VectorXd left = residuals(parameters_).head(2 * row_count);
  const double free = std::max<double>(1.0, static_cast<double>(2 * row_count - 3 * count));
  const double scale = rows.empty() ? 1 : std::max(1.0, left.squaredNorm() / free);
  misfit_ = kRowDeviation * std::sqrt(scale);
  covariance_ =
      scale * fit.information.ldlt().solve(Eigen::MatrixXd::Identity(parameters_.size(), parameters_.size()));
}

double LeverModel::static_w() const { return std::exp(parameters_[kStatic]); }
double LeverModel::overshoot() const { return std::exp(parameters_[kOvershoot]); }
double LeverModel::knee() const { return std::exp(parameters_[kKnee]); }
double LeverModel::lock_energy() const { return std::exp(parameters_[kLockEnergy]); }
double LeverModel::lock_time() const { return std::exp(parameters_[kLockTime]); }

void LeverModel::check(const PowerSetting& setting) const {
  if (setting.limit_w > 0 &&
      (setting.limit_w < device_.least_limit_w || setting.limit_w > device_.usual_limit_w))
    throw bad_input("a power limit of " + number_text(setting.limit_w) + " W is outside of what " +
                    device_.name + " is known for: " + number_text(device_.least_limit_w) + " to " +
                    number_text(device_.usual_limit_w) + " W");
  if (setting.clock_mhz <= 0) return;
  if (!(device_.most_clock_mhz > 0))
    throw bad_input("what other clocks do to " + device_.name +
                    " was never measured; a power limit can be told");
  if (setting.clock_mhz > device_.most_clock_mhz || setting.clock_mhz < 0.3 * device_.most_clock_mhz)
    throw bad_input("a clock of " + number_text(setting.clock_mhz) + " MHz is outside of what " +
                    device_.name + " is known for: " + number_text(std::ceil(0.3 * device_.most_clock_mhz)) +
                    " to " + number_text(device_.most_clock_mhz) + " MHz");
}

Stretch LeverModel::stretch(const PowerSetting& setting, double usual_power_w, double log_knee,
                            Eigen::Index knee_at) const {
  check(setting);
  if (!(usual_power_w > 0 && std::isfinite(usual_power_w)))
    throw bad_input("the power that a network draws must be positive");
  const auto told = [&](const Eigen::VectorXd& z, double log_k) {
    return told_by(shape_of(z), device_, setting, std::exp(log_k), usual_power_w);
  };
  const auto [factors, clock] = told(parameters_, log_knee);
  Stretch out{factors.energy, factors.time, 0, 0, clock};
  constexpr double kStep = 1e-3;
  Eigen::VectorXd energy = Eigen::VectorXd::Zero(parameters_.size()), time = energy;
  const auto slope = [&](Eigen::Index i) {
    Eigen::VectorXd up = parameters_, down = parameters_;
    up[i] += kStep;
    down[i] -= kStep;
    const bool knee = i == knee_at;
    const Factors a = told(up, log_knee + (knee ? kStep : 0)).factors;
    const Factors b = told(down, log_knee - (knee ? kStep : 0)).factors;
    energy[i] = std::log(a.energy / b.energy) / (2 * kStep);
    time[i] = std::log(a.time / b.time) / (2 * kStep);
  };
  for (Eigen::Index i = 0; i < kSharedCount; ++i) slope(i);
  if (knee_at >= kSharedCount) slope(knee_at);
  double energy_variance = energy.dot(covariance_ * energy), time_variance = time.dot(covariance_ * time);
  if (knee_at == kKnee) {  // a network that was never varied lies somewhere around the others
    energy_variance += std::pow(energy[kKnee] * kKneeSpread, 2);
    time_variance += std::pow(time[kKnee] * kKneeSpread, 2);
  }
  if (clock < 1 || setting.clock_mhz > 0 ||
      (setting.limit_w > 0 && usual_power_w > kNear * setting.limit_w)) {
    const double missed = misfit_ * misfit_ + foreign_ * foreign_;
    energy_variance += missed;
    time_variance += missed;
  }
  out.energy_deviation = std::sqrt(std::max(0.0, energy_variance));
  out.time_deviation = std::sqrt(std::max(0.0, time_variance));
  return out;
}

Stretch LeverModel::under(const PowerSetting& setting, double usual_power_w,
                          const std::string& network) const {
  const auto own = networks_.find(network);
  const Eigen::Index at = own == networks_.end() ? static_cast<Eigen::Index>(kKnee) : own->second + kOwnKnee;
  return stretch(setting, usual_power_w, parameters_[at], at);
}

Stretch LeverModel::under(const PowerSetting& setting, const std::string& network) const {
  const auto own = networks_.find(network);
  if (own == networks_.end()) throw bad_input(network + " was never trained under other settings");
  const Eigen::Index at = own->second;
  return stretch(setting, std::exp(parameters_[at + kOwnEnergy] - parameters_[at + kOwnTime]),
                 parameters_[at + kOwnKnee], at + kOwnKnee);
}

LeverModel LeverModel::on(const LeverDevice& other) const {
  LeverModel model = *this;
  model.parameters_[kStatic] += std::log(other.usual_limit_w / device_.usual_limit_w);
  model.device_ = other;
  model.foreign_ = kForeignDeviation;
  model.networks_.clear();
  return model;
}

std::vector<LeverRow> read_lever_rows(const std::string& text, const std::string& what) {
  std::vector<LeverRow> rows;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = what + " line " + std::to_string(number);
    const Json json = parse_json(line, where);
    const JsonReader r(json, where);
    LeverRow row;
    row.setting = {r.number("limit_w", 0), r.number("clock_mhz", 0)};
    if (row.setting.as_it_comes()) continue;
    row.network =
        r.text("name") + " b" + std::to_string(r.integer("batch", 1)) + " " + r.text("precision", "default");
    row.energy_j = r.number("joules");
    row.time_s = r.number("seconds");
    rows.push_back(row);
  }
  return rows;
}

const LeverModel& known_levers() {
  // The card as NVIDIA's driver calls it, its highest clock and its limits (nvidia-smi -q).
  static const LeverModel kModel(
      {"NVIDIA H200", 1980, 700, 200},
      read_lever_rows(std::string(embedded_limits()), "results/h200/limits.jsonl"));
  return kModel;
}

std::optional<LeverModel> levers_of(const std::string& device_name, double usual_limit_w) {
  const LeverModel& known = known_levers();
  if (device_name == known.device().name) return known;
  if (!(usual_limit_w > 0)) return std::nullopt;
  const double share = known.device().least_limit_w / known.device().usual_limit_w;
  return known.on({device_name, 0, usual_limit_w, share * usual_limit_w});
}

}  // namespace ampere
