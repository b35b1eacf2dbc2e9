#include "meter/replay_meter.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace ampere {
namespace {

MeterInfo info_from(const Json& line, const std::string& where) {
  const JsonReader reader(line, where);
  return {reader.text("meter"), reader.text("scope"), reader.boolean("modelled", false),
          reader.text("description", "")};
}

Reading reading_from(const Json& line, const std::string& where) {
  const JsonReader reader(line, where);
  return {Joules(reader.number("energy_j")), Seconds(reader.number("at_s"))};
}

class RecordingMeter : public Meter {
 public:
  RecordingMeter(std::unique_ptr<Meter> meter, const std::string& path)
      : meter_(std::move(meter)), path_(path), log_(path) {
    const MeterInfo& told = meter_->info();
    log_ << Json{{"meter", told.name},
                 {"scope", told.scope},
                 {"modelled", told.modelled},
                 {"description", told.description}}
                .dump()
         << std::endl;
    if (!log_) throw bad_input("cannot write the meter log " + path + ": choose a path in a writable folder");
  }
  const MeterInfo& info() const override { return meter_->info(); }
  Reading read() override {
    const Reading reading = meter_->read();
    log_ << Json{{"at_s", reading.at.value()}, {"energy_j", reading.energy.value()}}.dump() << '\n';
    if (!log_) throw Error(ErrorKind::kFailed, "cannot write the meter log " + path_ + ": is the disk full?");
    return reading;
  }
  std::optional<Watts> power() override { return meter_->power(); }
  DeviceState state() override { return meter_->state(); }

 private:
  std::unique_ptr<Meter> meter_;
  std::string path_;
  std::ofstream log_;
};

}  // namespace

ReplayMeter::ReplayMeter(const std::string& path) : path_(path) {
  std::ifstream log(path);
  if (!log) throw bad_input("cannot read the meter log " + path);
  std::string line;
  for (int number = 1; std::getline(log, line); ++number) {
    if (line.empty()) continue;
    const std::string where = path + ":" + std::to_string(number);
    const Json json = parse_json(line, where);
    if (info_.name.empty()) {
      info_ = info_from(json, where);
    } else {
      readings_.push_back(reading_from(json, where));
    }
  }
  if (info_.name.empty()) throw bad_input(path + ": not a meter log, its first line must describe the meter");
}

Reading ReplayMeter::read() {
  if (next_ >= readings_.size()) {
    throw Error(ErrorKind::kNoMeter, "meter log " + path_ + ": all " + std::to_string(readings_.size()) +
                                         " readings have been played");
  }
  return readings_[next_++];
}

Seconds ReplayMeter::recorded_now() const {
  if (readings_.empty()) return Seconds(0);
  return readings_[std::max<std::size_t>(next_, 1) - 1].at;
}

std::unique_ptr<Meter> make_recording_meter(std::unique_ptr<Meter> meter, const std::string& path) {
  return std::make_unique<RecordingMeter>(std::move(meter), path);
}

}  // namespace ampere
