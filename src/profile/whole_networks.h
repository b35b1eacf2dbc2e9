// Training a few whole networks beside profiling, to learn how well layers add up on this device.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profile/run.h"

namespace ampere {

// Trains a whole network as its mode says, and keeps what it cost for that surface.
Measurement measure_whole(DeviceProfile& profile, const StoredSurface& surface, const Network& network,
                          std::int64_t batch, const Measure& measure, const MeasureOptions& options);

// Means over all that is kept; absent where nothing is, or without energy.
struct WholeCost {
  double energy_j;
  double time_s;
  int times;  // how often it was measured
};
std::optional<WholeCost> whole_cost(const DeviceProfile& profile, const StoredSurface& surface);

struct WholeNetworkOptions {
  MeasureOptions eager;   // how whole networks are trained: as a user's training does
  MeasureOptions replay;  // and, on two clocks, replayed
  int passes = 1;         // over all networks, eagerly
};

// All networks must be of one family. One training at a time, so that they can be spread over a run.
class WholeNetworks {
 public:
  WholeNetworks(DeviceProfile& profile, std::string method, std::vector<Network> networks, std::int64_t batch,
                const Measure& measure, const WholeNetworkOptions& options);

  // Makes the next training that the store lacks; false when there is none left.
  bool measure_next();
  int trainings() const { return static_cast<int>(trainings_.size()); }
  int trainings_done() const { return next_; }
  int trainings_measured() const { return measured_; }  // by this object, not found in the store

  // Compares what was measured with the sums of layers and keeps what that teaches, for the method. The
  // surfaces must be there.
  void learn();

 private:
  struct Training {
    std::size_t network;
    bool replay;
    int pass;
  };
  StoredSurface surface(const Training& training) const;

  DeviceProfile& profile_;
  std::string method_;
  std::vector<Network> networks_;
  std::int64_t batch_;
  Measure measure_;
  WholeNetworkOptions options_;
  std::vector<Training> trainings_;
  std::set<std::pair<std::size_t, bool>> too_large_;  // network, replayed
  int next_ = 0;
  int measured_ = 0;
};

}  // namespace ampere
