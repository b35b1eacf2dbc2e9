#include "calibrate.h"

#include <cmath>

#include "base/error.h"
#include "common.h"
#include "meter/calibrate.h"
#include "meter/cpu_model_meter.h"
#include "meter/open.h"
#include "progress.h"
#include "text.h"

namespace ampere {
namespace {

// About a millisecond of arithmetic that does not leave the core.
void burn_once() {
  volatile double x = 1.0;
  for (int i = 0; i < 200'000; ++i) x = x * 1.0000001 + 1e-9;
}

WindowOptions calibration() {
  WindowOptions options;
  options.warm_up = Seconds(1);
  options.window = Seconds(0.5);
  options.target_error = 0.02;
  options.min_windows = 5;
  options.budget = Seconds(30);
  return options;
}

}  // namespace

void run_calibrate(const std::string& name, const CommonOptions& options) {
  const std::unique_ptr<Meter> real = open_meter(name);
  const MeterInfo& info = real->info();
  if (info.scope == "gpu")
    throw bad_input("calibration needs a meter that sees the CPU, and " + info.name + " sees a GPU");
  const std::unique_ptr<Meter> cpu = make_cpu_model_meter(Watts(1));
  const Work burn = [](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) burn_once();
  };
  const Watts found = [&] {
    const Countdown bar("calibrating", calibration().budget.value(), options.quiet || options.json);
    return calibrate_cpu_watts(*real, *cpu, burn, calibration());
  }();
  const Watts rounded(std::round(found.value() * 100) / 100);
  make_cpu_model_meter(rounded);  // throws where the variable would be refused
  if (options.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"meter", info.name},
                {"scope", info.scope},
                {"watts_per_core", rounded.value()}});
    return;
  }
  print("{} per busy core, by meter {} ({})\n", watts_text(found.value()), info.name, info.scope);
  print("export AMPERE_CPU_WATTS={:.2f}\n", rounded.value());
}

}  // namespace ampere
