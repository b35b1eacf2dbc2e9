// Estimates that come at once: the fitted devices of a store stay in memory, and so do answers.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ampere/device.h"
#include "answers/estimate_answer.h"
#include "serve/lru.h"
#include "serve/networks.h"

namespace ampere {

struct EstimateCounts {
  std::atomic<std::uint64_t> computed{0};
  std::atomic<std::uint64_t> remembered{0};
  std::atomic<std::uint64_t> refused{0};
};

// Layers do not depend on prices and lengths of jobs, and are most of the text: they are written once.
struct ServedEstimate {
  EstimateAnswer answer;                      // without layers
  std::shared_ptr<const std::string> layers;  // to_json() of them
};

struct KnownDevices {
  Json told;                          // as GET /devices tells them
  std::vector<std::string> ids;       // of all
  std::vector<std::string> measured;  // of those with any point
};

// "h100" of "sheet:h100"; absent where the device is none of that kind. Throws Error{kBadInput} for sheets
// that are not known: a path is none, since files of the server are none of anybody's business.
std::optional<std::string> sheet_of(const std::string& device);

// All members may be called by several threads; of one device one estimate at a time is computed.
class Estimator {
 public:
  Estimator(std::string store, double refresh_s);
  ~Estimator();

  // What is asked of one device: the id of a stored one, or how it begins, or "sheet:NAME". The tariff and
  // the length of the job are the caller's. Not for large networks. Throws Error as estimate() does,
  // DeadlinePassed.
  ServedEstimate answer(const std::string& device, const ServedNetwork& network, const TrainingSetup& setup,
                        const EstimateOptions& options);

  // The devices of the store, those used last first.
  std::shared_ptr<const KnownDevices> devices();
  // How well the networks of the zoo are known on a device under a recipe.
  Json knowledge(const std::string& device, const Recipe& recipe, Networks& networks);
  Json store_counts();
  // By name and id of the device: the mean share of estimates that rests on layers measured there.
  std::map<std::pair<std::string, std::string>, double> coverage() const;

  const EstimateCounts& counts() const { return counts_; }
  std::size_t remembered() const;

 private:
  struct Slot;
  struct Told;
  std::shared_ptr<Slot> slot(const std::string& device);
  std::shared_ptr<const Told> told(const std::string& device, const ServedNetwork& network,
                                   const TrainingSetup& setup, const EstimateOptions& options);
  std::string whole_id(const std::string& device);
  void look_at_store();
  void require_store();
  std::string stamp() const;

  std::string store_;
  double refresh_s_;
  EstimateCounts counts_;
  mutable std::mutex mutex_;
  std::mutex listing_;  // whose turn it is with the list of devices
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  Lru<std::shared_ptr<const Told>> answers_{100'000};  // by layers
  std::uint64_t generation_ = 0;                       // of the store's contents
  std::string stamp_;
  bool seen_ = false;     // the store, ever
  double fitting_s_ = 0;  // since the store was last seen to change
  std::chrono::steady_clock::time_point looked_{};
  std::map<std::pair<std::string, std::string>, std::pair<double, int>> measured_;  // sums and counts
  std::shared_ptr<const KnownDevices> devices_;
  std::optional<Json> store_counts_;
};

}  // namespace ampere
