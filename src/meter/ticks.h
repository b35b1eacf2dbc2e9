// Following the ticks of a slow counter while work goes on.
//
// The counter only says how much energy had been used at its last tick, so a window must begin and end on
// ticks. Reads are dear (the device waits), so few are made:
// - before a window a tick is looked for: two reads with different values have it between them. They are made
// only near
//   the moment it is expected, with a piece of work between any two;
// - the window's own ticks are known then, for ticks come evenly: one read half a tick later tells the energy
// at each.
#pragma once

#include <vector>

#include "meter/characterise.h"
#include "meter/window.h"

namespace ampere {

// A moment at which the counter is known exactly.
struct Edge {
  Seconds at;
  Joules energy;
  double iterations = 0;  // done since the follower was made, up to this moment
  Seconds reading;        // spent reading since then, up to this moment
};

class TickFollower {
 public:
  // `pace` is the time of one iteration; the character must have a tick and an edge.
  TickFollower(Meter& meter, const Work& work, const Clock& clock, const MeterCharacter& character,
               Seconds pace);

  // Works without reading until shortly before the next tick, then looks for it. Throws Error{kNoMeter} when
  // the counter stops ticking or runs backwards.
  Edge find_tick();

  // Works without reading past the tick nearest to `moment`, at least, and reads once where no tick is near;
  // the edge is the last tick before that read. Throws as above.
  Edge tick_near(Seconds moment);

  Seconds tick() const { return tick_; }

 private:
  // What had been done by a moment; between two knots both grow evenly.
  struct Knot {
    Seconds at;
    double iterations = 0;
    Seconds reading;
  };

  void work_until(Seconds end);
  void run(std::int64_t iterations);
  Reading read();
  [[noreturn]] void stopped() const;
  std::int64_t piece() const;
  Seconds between_reads() const;
  Seconds uncertainty(Seconds ahead) const;
  Edge edge_between(const Reading& before, const Reading& after, Seconds expected);
  Edge edge_at(Seconds moment, Joules energy) const;
  void learn(Seconds edge);
  void forget_before(Seconds moment);

  Meter& meter_;
  const Work& work_;
  const Clock& clock_;
  Seconds tick_;
  Seconds read_cost_;
  Seconds pace_;
  Seconds first_edge_;
  Seconds last_edge_;  // the last that was looked for
  double baseline_;    // ticks between first_edge_ and the last edge that tick_ was computed from
  Joules highest_{-1};
  std::vector<Knot> knots_;
};

}  // namespace ampere
