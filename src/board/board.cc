#include "board/board.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ampere {
namespace {

constexpr double kStep = 0.05;  // seconds in which temperature and clock count as the same
constexpr double kReadCost = 0.0005;
// Seconds between two looks at the temperature. Like Linux's step_wise (drivers/thermal/gov_step_wise.c): a
// step down where it is too warm and still getting warmer, a step up where it is cool enough and still
// cooling, else none.
constexpr double kGovernorLooks = 1;
constexpr double kJitter = 0.004;  // of the time of a piece of work

}  // namespace

BoardSheet find_board(const Json& boards, const std::string& name) {
  std::string known;
  for (const Json& json : boards) {
    const JsonReader r(json, "board");
    known += (known.empty() ? "" : ", ") + r.text("name");
    if (r.text("name") != name) continue;
    BoardSheet b;
    b.name = name;
    b.description = r.text("description");
    b.core_kinds = r.text("core_kinds");
    b.governor = r.text("governor");
    b.cores = static_cast<int>(r.integer("cores"));
    b.memory_bytes = r.number("memory_bytes");
    b.idle_w = r.number("idle_w");
    b.busy_w = r.number("busy_w");
    for (const Json& clock : r.array("clocks_mhz")) b.clocks_mhz.push_back(clock.get<double>());
    b.power_exponent = r.number("power_exponent");
    b.leak_per_k = r.number("leak_per_k");
    b.resistance_k_per_w = r.number("resistance_k_per_w");
    b.time_constant_s = r.number("time_constant_s");
    b.ambient_c = r.number("ambient_c");
    b.throttle_c = r.number("throttle_c");
    b.hysteresis_k = r.number("hysteresis_k");
    const Json counter_json = r.object("counter");
    const JsonReader counter(counter_json, "counter");
    b.counter = counter.text("name");
    b.tick_s = counter.number("tick_s");
    b.resolution_w = counter.number("resolution_w");
    b.slower = r.number("slower");
    b.step_s = r.number("step_s");
    if (b.clocks_mhz.empty() || !(b.tick_s > 0) || !(b.time_constant_s > 0))
      throw bad_input("board " + name + ": clocks, tick and time constant must be there and above 0");
    return b;
  }
  throw bad_input("no board is called \"" + name + "\" (known: " + known + ")");
}

Board::Board(BoardSheet sheet, unsigned seed)
    : sheet_(std::move(sheet)), random_(seed), temperature_c_(sheet_.ambient_c), seen_c_(temperature_c_) {
  next_tick_s_ = time_s_ + sheet_.tick_s;
  rest(0);
}

double Board::power_w(double load) const {
  const double above = (sheet_.busy_w - sheet_.idle_w) * load * std::pow(speed(), sheet_.power_exponent);
  return (sheet_.idle_w + above) * (1 + sheet_.leak_per_k * (temperature_c_ - sheet_.ambient_c));
}

void Board::pass(double seconds, double power_w) {
  const double end = time_s_ + seconds;
  while (next_tick_s_ <= end) {
    drawn_j_ += power_w * (next_tick_s_ - time_s_);
    time_s_ = next_tick_s_;
    const double mean_w = (drawn_j_ - drawn_at_tick_j_) / sheet_.tick_s;
    const double told_w =
        sheet_.resolution_w > 0 ? sheet_.resolution_w * std::round(mean_w / sheet_.resolution_w) : mean_w;
    shown_j_ += told_w * sheet_.tick_s;
    drawn_at_tick_j_ = drawn_j_;
    next_tick_s_ += sheet_.tick_s;
  }
  drawn_j_ += power_w * (end - time_s_);
  time_s_ = end;
  const double towards = sheet_.ambient_c + power_w * sheet_.resistance_k_per_w;
  temperature_c_ += (towards - temperature_c_) * (1 - std::exp(-seconds / sheet_.time_constant_s));
  while (time_s_ >= next_look_s_) {
    next_look_s_ += kGovernorLooks;
    const bool warmer = temperature_c_ > seen_c_, cooler = temperature_c_ < seen_c_;
    seen_c_ = temperature_c_;
    if (temperature_c_ >= sheet_.throttle_c && warmer && level_ + 1 < sheet_.clocks_mhz.size())
      ++level_;
    else if (temperature_c_ <= sheet_.throttle_c - sheet_.hysteresis_k && cooler && level_ > 0)
      --level_;
  }
}

void Board::work(double seconds_at_best, double load) {
  std::normal_distribution<double> noise(0, kJitter);
  double left = seconds_at_best * std::exp(noise(random_));
  while (left > 0) {
    const double pace = speed();
    const double now = std::min(kStep, left / pace);
    pass(now, power_w(load));
    left -= now * pace;
    if (left < 1e-12) break;
  }
}

void Board::rest(double seconds) {
  for (double left = seconds; left > 0; left -= kStep) pass(std::min(kStep, left), power_w(0));
}

Reading Board::read() {
  rest(kReadCost / 2);
  const Reading reading{Joules(shown_j_), Seconds(time_s_)};
  rest(kReadCost / 2);
  return reading;
}

DeviceState Board::state() const {
  DeviceState state;
  state.temperature_c = temperature_c_;
  state.clock_mhz = sheet_.clocks_mhz[level_];
  if (level_ > 0) state.throttle = {"thermal"};
  return state;
}

}  // namespace ampere
