// The energy meters of this machine, for programs that measure what they do themselves: the counters of GPUs,
// CPUs and boards that workers measure with (docs/measuring_well.md), one reading at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ampere {

// What is known of a meter before it is used.
struct MeterDescription {
  std::string name;         // what EnergyMeter::open() takes: "nvml", "rapl", "cpu-model"
  std::string scope;        // "gpu", "package", "module", "board", "battery", "process"
  bool modelled = false;    // computed from a model (CPU time times watts), not read from hardware
  std::string description;  // one line for people: what is read, and from where
  bool available = false;   // can be used here
  std::string why = {};     // it cannot: what is missing, and the fix
  double samples_s = 0;     // how far apart the samples of recent_power() are; 0: it keeps none
};
// All meters that there are, the most trusted first; opens each for a moment. What is not available here is
// listed as well, with why.
std::vector<MeterDescription> meters();

// Both only grow while the meter works, so two readings tell what was used between them.
struct EnergyReading {
  double energy_j = 0;  // since some arbitrary moment
  double at_s = 0;      // monotonic clock (CLOCK_MONOTONIC), the moment the energy was asked for
};

// What was drawn about a moment.
struct PowerReading {
  double at_s = 0;  // monotonic clock, as in EnergyReading
  double power_w = 0;
};

// How a meter behaves. A slow counter only says how much had been used at its last tick, so short windows
// must begin and end on ticks.
struct MeterBehaviour {
  bool moves = false;       // the counter changed while it was watched
  bool continuous = false;  // it changed at nearly every reading: it has no tick that could be seen
  double tick_s = 0;        // time between two changes; 0: continuous, or fewer than two were seen
  double read_s = 0;        // what one reading takes
  double resolution_j = 0;  // smallest change seen
};

// An open meter. Can be moved but not copied. Several threads may use one: they take turns.
class EnergyMeter {
 public:
  // `name` as MeterDescription has it, with an argument where it takes one ("nvml:0,1", "exec:COMMAND"),
  // several joined with + ("nvml+rapl"); empty: $AMPERE_METER, else the first that is available. Throws
  // Error{kBadInput} for a name nobody knows, Error{kNoMeter} for a meter that cannot be used here.
  static EnergyMeter open(const std::string& name = "");

  EnergyMeter(EnergyMeter&&) noexcept;
  EnergyMeter& operator=(EnergyMeter&&) noexcept;
  ~EnergyMeter();

  const MeterDescription& description() const;

  // All that follows throws Error{kNoMeter} when the counter can no longer be read.
  EnergyReading read();
  // The next moment at which the counter changes, and its value there. Waits for it, which takes up to a
  // tick; without a tick it is read() at once. Watches the meter first where nobody has yet. Throws
  // Error{kNoMeter} also when the counter stands still for five ticks.
  EnergyReading read_at_tick();
  // Reads again and again for at most `limit_s`, until a few ticks were seen or it is clear that there are
  // none. Kept: behaviour() has it then.
  MeterBehaviour watch(double limit_s = 1);
  std::optional<MeterBehaviour> behaviour() const;
  // The mean power of at least `length_s`, in which this thread sleeps: idle power, if all others do nothing.
  // From tick to tick. Throws Error{kBadInput} for a length that is not positive, Error{kNoMeter} when the
  // counter stands still.
  double mean_power_w(double length_s = 1);
  // The power drawn about now, by a second sensor; absent: there is none.
  std::optional<double> power_w();
  // The power of the last seconds, oldest first, as the device itself has kept it (NVIDIA GPUs: every 20 ms).
  // Read after the work it costs nothing within. Empty: it keeps none.
  std::vector<PowerReading> recent_power();

 private:
  struct Impl;
  explicit EnergyMeter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ampere
