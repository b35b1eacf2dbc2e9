#include "ampere/meter.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "meter/characterise.h"
#include "meter/open.h"
#include "meter/sampled_window.h"

namespace ampere {
namespace {

constexpr int kEdgesWatched = 5;      // of a counter that ticks ten times a second: half a second
constexpr double kMostTicks = 5;      // without a change, and the counter counts as stuck
constexpr double kPollsPerTick = 50;  // a tick is found to a fiftieth of it, or a millisecond
constexpr double kLongestSleep = 1e-3;

MeterDescription described(const MeterStatus& m) {
  return {m.info.name,
          m.info.scope,
          m.info.modelled,
          m.info.description,
          m.available,
          m.why,
          m.samples.value_or(Seconds(0)).value()};
}

EnergyReading plain(const Reading& reading) { return {reading.energy.value(), reading.at.value()}; }

void sleep_for(Seconds time) { std::this_thread::sleep_for(std::chrono::duration<double>(time.value())); }

}  // namespace

std::vector<MeterDescription> meters() {
  std::vector<MeterDescription> list;
  for (const MeterStatus& status : list_meters()) list.push_back(described(status));
  return list;
}

struct EnergyMeter::Impl {
  explicit Impl(std::unique_ptr<Meter> opened)
      : meter(std::move(opened)), description(described({meter->info(), true, "", sample_spacing(*meter)})) {}

  const MeterBehaviour& watch(Seconds limit) {
    CharacteriseOptions options;
    options.edges = kEdgesWatched;
    options.limit = limit;
    character = characterise(
        *meter, [] {}, options);
    behaviour = MeterBehaviour{character.moves, character.continuous, character.tick.value(),
                               character.read_cost.value(), character.resolution.value()};
    return *behaviour;
  }

  std::mutex mutex;
  std::unique_ptr<Meter> meter;
  MeterDescription description;
  MeterCharacter character;
  std::optional<MeterBehaviour> behaviour;
};

EnergyMeter::EnergyMeter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EnergyMeter::EnergyMeter(EnergyMeter&&) noexcept = default;
EnergyMeter& EnergyMeter::operator=(EnergyMeter&&) noexcept = default;
EnergyMeter::~EnergyMeter() = default;

EnergyMeter EnergyMeter::open(const std::string& name) {
  return EnergyMeter(std::make_unique<Impl>(open_meter(name)));
}

const MeterDescription& EnergyMeter::description() const { return impl_->description; }

EnergyReading EnergyMeter::read() {
  const std::lock_guard lock(impl_->mutex);
  return plain(impl_->meter->read());
}

EnergyReading EnergyMeter::read_at_tick() {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->behaviour) impl_->watch(Seconds(1));
  const double tick = impl_->character.tick.value();
  Reading before = impl_->meter->read();
  if (tick <= 0) return plain(before);
  const Seconds give_up = before.at + Seconds(tick * kMostTicks);
  while (true) {
    sleep_for(Seconds(std::min(tick / kPollsPerTick, kLongestSleep)));
    const Reading after = impl_->meter->read();
    // It changed somewhere between the two.
    if (after.energy != before.energy) return {after.energy.value(), ((before.at + after.at) / 2).value()};
    if (after.at > give_up) no_meter(impl_->description.name, "the counter has stopped moving");
    before = after;
  }
}

MeterBehaviour EnergyMeter::watch(double limit_s) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->watch(Seconds(limit_s));
}

std::optional<MeterBehaviour> EnergyMeter::behaviour() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->behaviour;
}

double EnergyMeter::mean_power_w(double length_s) {
  if (!(length_s > 0)) throw bad_input("a mean power takes a length of time above 0");
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->behaviour) impl_->watch(Seconds(1));
  return average_power(*impl_->meter, sleep_for, Seconds(length_s), impl_->character).value();
}

std::optional<double> EnergyMeter::power_w() {
  const std::lock_guard lock(impl_->mutex);
  const std::optional<Watts> power = impl_->meter->power();
  return power ? std::optional(power->value()) : std::nullopt;
}

std::vector<PowerReading> EnergyMeter::recent_power() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<PowerReading> readings;
  for (const PowerSample& sample : impl_->meter->samples())
    readings.push_back({sample.at.value(), sample.power.value()});
  return readings;
}

}  // namespace ampere
