// A board that exists only as figures: what it draws, how it warms and slows down, what its counter shows.
// Time passes when it works, rests or is read, never by itself, so an hour of it takes seconds.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "meter/meter.h"
#include "meter/window.h"

namespace ampere {

// As data/boards.json has it, which says where each figure is from.
struct BoardSheet {
  std::string name, description, core_kinds, governor;
  int cores = 1;
  double memory_bytes = 0;
  double idle_w = 1, busy_w = 5;
  std::vector<double> clocks_mhz;  // the highest first
  double power_exponent = 2.4;     // what is drawn above idle goes with the clock to this power
  double leak_per_k = 0;           // share more for each kelvin above the surroundings
  double resistance_k_per_w = 1, time_constant_s = 100, ambient_c = 25;
  double throttle_c = 90, hysteresis_k = 2;
  std::string counter;  // its meter's name
  double tick_s = 0.1, resolution_w = 0.01;
  double slower = 1;  // than the device that its layers were recorded on
  double step_s = 0;  // of an iteration without any layer
};
// Throws Error{kBadInput} that lists the names where there is none of this one.
BoardSheet find_board(const Json& boards, const std::string& name);

class Board {
 public:
  explicit Board(BoardSheet sheet, unsigned seed = 1);

  // Works off what takes so long at the highest clock, drawing so much of what it can.
  void work(double seconds_at_best, double load);
  void rest(double seconds);
  // Of the counter: what it has shown since its last tick. Takes a little time.
  Reading read();
  DeviceState state() const;

  Seconds time() const { return Seconds(time_s_); }
  double drawn_j() const { return drawn_j_; }  // what nobody on the board can see
  double temperature_c() const { return temperature_c_; }
  const BoardSheet& sheet() const { return sheet_; }

 private:
  void pass(double seconds, double power_w);
  double power_w(double load) const;
  double speed() const { return sheet_.clocks_mhz[level_] / sheet_.clocks_mhz.front(); }

  BoardSheet sheet_;
  std::mt19937 random_;
  double time_s_ = 100, drawn_j_ = 0, temperature_c_;
  double seen_c_;             // temperature when the governor last looked
  std::size_t level_ = 0;     // of the clocks; 0: not slowed down
  double next_look_s_ = 101;  // of the governor at the temperature
  double next_tick_s_ = 100, drawn_at_tick_j_ = 0, shown_j_ = 0;
};

}  // namespace ampere
