// What `ampere estimate --json` and the server's /estimate say, and how they come to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ampere/schedule.h"
#include "ampere/tariff.h"
#include "base/json.h"
#include "model/data_sheet.h"
#include "session/estimate.h"
#include "session/memory.h"
#include "session/sustained.h"

namespace ampere {

struct JobLength {
  double iterations_per_epoch = 0;  // 0: not asked for
  double iterations = 0;
};
// Nothing where samples is 0.
JobLength job_length(std::int64_t samples, std::int64_t batch, std::int64_t epochs);

// One network at one batch on one device.
struct EstimateAnswer {
  StoredDevice device;
  std::optional<DataSheet> sheet;  // that tells instead of measurements
  std::string model;               // its name
  TrainingSetup setup;
  MeasureMode mode = MeasureMode::kEager;
  Estimate estimate;
  std::optional<Estimate> tuned;  // the same with the framework's kernel tuning
  std::optional<ProbeSummary> probed;
  JobLength job;
  double risk = 0;
  std::optional<Admission> battery;
  MemoryVerdict memory;
  std::optional<SustainedCost> warm;  // the estimate is of a device that is so warm
  Tariff tariff;
};
Json to_json(const EstimateAnswer& answer);
// What it has as "layers".
Json to_json(const std::vector<LayerEstimate>& layers);

// What it would cost with the framework's kernel tuning, where `tuned` is the profile of that recipe; absent
// where that was not profiled or is only guessed.
std::optional<Estimate> with_autotune(DeviceProfile& tuned, const Network& network, std::int64_t batch,
                                      const EstimateOptions& options);

// For those who profiled before the framework's default was ours, or by another recipe than they ask for: one
// line that says so, which begins with a line break; empty where there is nothing to say.
std::string other_precision(Store& store, const StoredDevice& device, const Network& network,
                            const TrainingSetup& setup, const EstimateOptions& options);

}  // namespace ampere
