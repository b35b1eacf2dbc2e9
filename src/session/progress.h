// How long work says how far it is. The library never prints; whoever calls it decides what to show.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ampere {

struct Step {
  std::string task;  // "profiling split", "training"
  int done = 0;
  int of = 0;
  std::optional<double> seconds_left;  // absent: the pace so far tells
  std::string what;                    // is being worked on
};
// May be empty: nobody wants to know.
using OnStep = std::function<void(const Step&)>;

}  // namespace ampere
