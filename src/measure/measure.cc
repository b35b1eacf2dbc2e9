#include "measure/measure.h"

#include "base/error.h"

namespace ampere {

MeasureRequest request_for(const Variant& variant, std::int64_t batch, const MeasureOptions& options) {
  MeasureRequest r;
  r.network = variant.network;
  r.batch = batch;
  r.mode = options.mode;
  r.loss = variant.loss;
  r.input_grad = variant.input_grad;
  r.recipe = options.recipe;
  r.meter = options.meter;
  r.target_error = options.target_error;
  r.window_s = options.window_s;
  r.warm_up_s = options.warm_up_s;
  r.budget_s = options.budget_s;
  r.min_windows = options.min_windows;
  r.min_ticks = options.min_ticks;
  r.discard_first = options.discard_first;
  return r;
}

Measurement measure_as_asked(const Measure& measure, const MeasureRequest& request) {
  Measurement m = measure(request);
  if (request.energy && !m.energy_j) {
    throw Error(ErrorKind::kNoMeter,
                "the worker measured " + request.network.name() +
                    " without its energy; choose another meter with --meter (ampere detect lists them)");
  }
  return m;
}

MeasureRequest without_energy(MeasureRequest r) {
  r.energy = false;
  r.window_s = 0.005;
  r.warm_up_s = 0;
  r.budget_s = 0.05;
  r.min_windows = 5;
  r.target_error = 0.005;
  return r;
}

std::string provenance(const MeasureRequest& request) {
  // A network may be named after a file whose name is no text.
  return to_json(request).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ampere
