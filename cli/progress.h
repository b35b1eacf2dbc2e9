// A progress bar on standard error, with the time left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ampere {

// Lines on standard error can be drawn again: on a terminal that knows how, unless its owner wants no escape
// sequences.
bool can_redraw();

// Redraws one line on a terminal; elsewhere, and where NO_COLOR is set or the terminal is a dumb one, prints
// a line now and then. Quiet prints nothing.
class Progress {
 public:
  // Shows nothing before `patience` has passed.
  Progress(std::string title, bool quiet, std::chrono::milliseconds patience = std::chrono::milliseconds(0));
  ~Progress();
  void show(int done, int of, double seconds_left, const std::string& what);
  // The same, with the time left told by the pace since the bar was made.
  void show(int done, int of, const std::string& what);
  // Removes the bar, so that other lines can be printed.
  void clear();

  bool redraws() const { return terminal_ && !quiet_; }

 private:
  void draw(int done, int of, const std::string& left, const std::string& what);

  std::string title_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::milliseconds patience_;
  int last_tenth_ = -1;
  int before_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A bar for one long step whose end is not announced, such as a request to the worker. It runs by the clock,
// starts to show after two seconds, and only where a line can be redrawn.
class Countdown {
 public:
  Countdown(const std::string& title, double expected_seconds, bool quiet);
  ~Countdown();
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

 private:
  void run(double expected_seconds);

  Progress bar_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace ampere
