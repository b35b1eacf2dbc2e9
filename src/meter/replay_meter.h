// Recording what a meter reads and playing it back, so that a measurement can be repeated without the device.
//
// The log is JSON lines: first what the meter says of itself,
//   {"meter":"nvml","scope":"gpu","modelled":false,"description":"..."}
// then one reading per line:
//   {"at_s":12.5,"energy_j":3400.25}
#pragma once

#include <memory>
#include <string>

#include "meter/meter.h"

namespace ampere {

// Gives the recorded readings one by one under the recorded meter's name, just as they were (backwards too),
// and fails with Error{kNoMeter} when there are none left. Throws Error{kBadInput} for a log that is
// malformed, naming the line.
class ReplayMeter : public Meter {
 public:
  explicit ReplayMeter(const std::string& path);
  const MeterInfo& info() const override { return info_; }
  Reading read() override;

  // The recorded time: that of the reading given last (of the first before any is).
  Seconds recorded_now() const;

 private:
  std::string path_;
  MeterInfo info_;
  std::vector<Reading> readings_;
  std::size_t next_ = 0;
};

// Reads from `meter` and appends every reading to a new log at `path`. Throws Error{kBadInput} when the
// log cannot be created; a full disk later on fails the read with Error{kFailed}.
std::unique_ptr<Meter> make_recording_meter(std::unique_ptr<Meter> meter, const std::string& path);

}  // namespace ampere
