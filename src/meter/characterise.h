// Finding out how a meter behaves by using it, before anything depends on it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "meter/meter.h"

namespace ampere {

struct MeterCharacter {
  std::string scope;
  bool moves = false;           // the counter changed while it was watched
  bool continuous = false;      // it changed at (nearly) every read: it has no tick that could be seen
  Seconds tick;                 // time between two changes; 0 when continuous or when it never moved
  int ticks = 0;                // how many ticks `tick` is the mean of
  Seconds read_cost;            // median duration of one read
  Joules resolution;            // smallest change seen
  std::optional<Seconds> edge;  // when the last change was seen, for those who go on from there
  std::optional<Watts> idle;    // filled in by the caller from average_power()
  int reads = 0;
};

struct CharacteriseOptions {
  int edges = 12;      // changes to wait for
  Seconds limit{3.0};  // stop waiting after this long
  Clock clock = now;   // what readings are stamped with
};

// Reads the meter again and again, calling `keep` between reads: work in small pieces, or nothing. A meter
// that never moves is an answer (moves = false), not an error; a meter that fails throws Error{kNoMeter}.
MeterCharacter characterise(Meter& meter, const std::function<void()>& keep,
                            const CharacteriseOptions& options = {});

// The mean power while `stay` keeps the device in the state wanted (idle with the framework's context up,
// say) for at least `length`; from tick to tick where the counter has ticks. Throws Error{kNoMeter} when the
// counter stands still.
Watts average_power(Meter& meter, const std::function<void(Seconds)>& stay, Seconds length,
                    const MeterCharacter& character, const Clock& clock = now);

}  // namespace ampere
