// What many candidates cost, by tables. A layer's cost depends on at most two channel numbers, so a search
// looks each pair up once and then adds: the same sums, by the same composition, as estimate_network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/split.h"
#include "prune/channel_groups.h"

namespace ampere {

// A candidate: for each group, the place of its channel number in the list of those allowed.
using Choice = std::vector<std::uint16_t>;

// Per iteration.
struct CandidateCost {
  double energy_j = 0;
  double flops = 0;
  double parameters = 0;
};

class CostTables {
 public:
  // `numbers`: the channels allowed for each group, ascending. Without models energies are 0; with
  // them, something must tell all surfaces of the network. Both must outlive the tables.
  CostTables(const PrunableNetwork& network, std::vector<std::vector<std::int64_t>> numbers,
             const LayerModels* models, MeasureMode mode);
  ~CostTables();

  // Computes what a candidate's layers need that no earlier one has needed.
  CandidateCost cost(const Choice& choice);
  std::vector<std::int64_t> channels(const Choice& choice) const;
  const std::vector<std::vector<std::int64_t>>& numbers() const { return numbers_; }

 private:
  struct Table;
  void add_layer(std::size_t index);
  void fill(Table& table, std::size_t row);  // at least this row
  double composed(double device_s, double device_j);

  const PrunableNetwork& network_;
  std::vector<std::vector<std::int64_t>> numbers_;
  const LayerModels* models_;
  std::vector<Table> tables_;
  SplitParts parts_;  // of the host, and what is always there
  SplitParts scratch_;
  SplitFactors factors_;
  double idle_w_ = 0;
  double energy_factor_ = 1;
};

}  // namespace ampere
