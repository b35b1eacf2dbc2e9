// Following the ticks of a slow counter while work goes on.
//
// The counter only says how much energy had been used at its last tick, so a window must begin and end on
// ticks. A tick is seen as two reads with different values: it lies between them. Reads are dear (the device
// waits), so they are made only near the tick that is expected, with a piece of work between any two.
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

  // Works without reading until shortly before the first tick at or after `earliest`, then finds it. Throws
  // Error{kNoMeter} when the counter stops ticking or runs backwards.
  Edge edge_after(Seconds earliest);

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
  Edge edge_between(const Reading& before, const Reading& after, Seconds expected);
  void learn(Seconds edge);
  void forget_before(Seconds moment);

  Meter& meter_;
  const Work& work_;
  const Clock& clock_;
  Seconds tick_;
  Seconds read_cost_;
  Seconds pace_;
  Seconds first_edge_;
  Seconds last_edge_;
  double baseline_;  // ticks between first_edge_ and the last edge that tick_ was computed from
  Joules highest_{-1};
  std::vector<Knot> knots_;
};

}  // namespace ampere
