// What layers cost where somebody measured them: recorded points, and straight lines between them. No model
// of ours is asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "board/between.h"
#include "layers/parse.h"

namespace ampere {

struct RecordedCost {
  double time_s = 0;
  double load = 0;  // power, as a share of the most that was recorded
};

class RecordedCosts {
 public:
  // CSV files as tools/export_points writes them. Throws Error{kBadInput}.
  explicit RecordedCosts(const std::vector<std::string>& paths, const std::string& recipe);

  // Throws Error{kBadInput} for kinds that nobody recorded.
  RecordedCost of(const Layer& layer, LayerRole role) const;

 private:
  struct Kind {
    Between time, power;
  };

  std::map<std::string, Kind> kinds_;
  double most_w_ = 1;
};

}  // namespace ampere
