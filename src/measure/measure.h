// How points are measured: what is asked of whatever trains them, and what must come back.
#pragma once

#include <functional>
#include <string>

#include "measure/measurement.h"
#include "measure/request.h"
#include "variants/variant.h"

namespace ampere {

// Trains what it is sent and tells what an iteration cost: a worker, or a stand-in in tests.
using Measure = std::function<Measurement(const MeasureRequest&)>;

// How to measure a point; where is the business of PlaceOptions (profile/run.h).
struct MeasureOptions {
  MeasureMode mode = MeasureMode::kEager;
  Recipe recipe;
  std::string meter;           // empty: the worker's default
  double target_error = 0.01;  // relative standard error at which a point is done
  double window_s = 0.05;
  double warm_up_s = 0.08;
  double budget_s = 0.8;  // of training per point
  int min_windows = 5;
  int min_ticks = 10;  // of a counter, in one window
  bool discard_first = true;
};

// The request that measures a variant under these options; without energy it takes about 50 ms.
MeasureRequest request_for(const Variant& variant, std::int64_t batch, const MeasureOptions& options);
MeasureRequest without_energy(MeasureRequest request);

// Throws Error{kNoMeter} where energy was asked for and none came back.
Measurement measure_as_asked(const Measure& measure, const MeasureRequest& request);

// What is written beside a point: the network and how it was trained.
std::string provenance(const MeasureRequest& request);

}  // namespace ampere
