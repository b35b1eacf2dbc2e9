// What an external power monitor says, line by line.
//
// Each line is one sample, in one of these forms (blank lines and lines starting with # are skipped):
//   {"at_s":1731650000.25,"power_w":12.5}       JSON; or "energy_j" for a cumulative counter; at_s may be
//   missing 1731650000.25 12.5 W                        time in seconds, value, unit (W, mW, J, mJ, Wh),
//   spaces or commas 12.5 W                                      no time: it is that of arrival
// The monitor's clock may be any: see ExternalSeries.
#pragma once

#include <optional>
#include <string>

#include "meter/meter.h"

namespace ampere {

struct ExternalSample {
  std::optional<Seconds> stamp;  // by the monitor's clock
  double value = 0;              // watts or joules
  bool cumulative = false;       // joules
};

// Absent for lines to skip. Throws Error{kBadInput}, naming the line's text, for anything else.
std::optional<ExternalSample> parse_external_line(const std::string& line);

// Samples added up to energy on our own clock. The offset between the clocks is the smallest of (arrival -
// stamp): the line that was delayed least.
class ExternalSeries {
 public:
  // Samples come in the order of time; one that is not newer than the last is dropped. Throws Error{kNoMeter}
  // for a cumulative counter that runs backwards.
  void add(const ExternalSample& sample, Seconds arrival);

  // Energy at `moment`, the newest sample carried on with its power. Throws Error{kNoMeter} when there are
  // fewer than two samples, or the newest is older than ten of the usual distances between samples (and than
  // two seconds).
  Joules energy_at(Seconds moment);

  bool ready() const { return samples_ >= 2; }

 private:
  Seconds offset_{0};
  bool has_offset_ = false;
  int samples_ = 0;
  Seconds stamp_;    // of the newest sample, monitor's clock
  Seconds spacing_;  // longest distance between samples so far
  Watts power_;      // at the newest sample, or over the last step of a counter
  Joules counter_;   // newest value of a cumulative counter
  Joules energy_;    // up to the newest sample
  Joules told_;      // highest energy given out
};

}  // namespace ampere
