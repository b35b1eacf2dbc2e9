// Calls that were timed within whole training steps. There are thousands, many of them much alike: a
// selection that tells the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/layer_kind.h"
#include "measure/measurement.h"
#include "model/work_model.h"

namespace ampere {

// What a network computes in.
enum class Computes { kFloat, kHalf };
// A layer does as its recipe says, a captured part as was seen.
Computes computes_of(const LayerKind& kind, const std::string& recipe);
// Whether works tell what such a network costs: all in its precision, and those that multiply nothing.
bool tells(const std::vector<CountedWork>& works, Computes asked);
// Whether any of what was measured tells what such a network multiplies with: another precision does not.
bool any_tells(const std::vector<MeasuredWork>& seen, Computes asked);
// Below this many others tell as much.
inline constexpr std::size_t kEnoughWithin = 400;

class WithinCalls {
 public:
  explicit WithinCalls(bool accelerator) : accelerator_(accelerator) {}

  // Measurements of the very same work are one, their mean.
  void add(std::vector<CountedWork> works, const Measurement& measurement);
  // How many tell what a network costs that computes in this precision, and to forget all others.
  std::size_t count(Computes asked) const;
  void keep(Computes asked);
  // At most so many, each as far as can be from those before it; what takes long counts for more.
  std::vector<MeasuredWork> take(std::size_t most) const;

 private:
  struct Call {
    std::vector<CountedWork> works;
    double log_time = 0;  // sum
    double error = 0;
    int count = 0;
  };
  bool accelerator_;
  std::map<std::vector<std::pair<OpWork, double>>, Call> calls_;
};

}  // namespace ampere
