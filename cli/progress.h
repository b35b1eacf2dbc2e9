// A progress bar on standard error, with the time left.
#pragma once

#include <chrono>
#include <string>

namespace ampere {

// Redraws one line on a terminal; elsewhere prints a line now and then. Quiet prints nothing.
class Progress {
 public:
  Progress(std::string title, bool quiet);
  ~Progress();
  void show(int done, int of, double seconds_left, const std::string& what);
  // Removes the bar, so that other lines can be printed.
  void clear();

 private:
  std::string title_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  int last_tenth_ = -1;
};

}  // namespace ampere
