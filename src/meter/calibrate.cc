#include "meter/calibrate.h"

#include "base/error.h"

namespace ampere {

Watts calibrate_cpu_watts(Meter& real, Meter& cpu, const Work& burn, const WindowOptions& options) {
  if (real.info().modelled)
    throw bad_input("calibration needs a real meter, and " + real.info().name +
                    " is modelled; ampere detect lists those that measure");
  Seconds cpu_time;
  double iterations = 0;
  // CPU time is taken over the work alone: reading the real meter may burn some too.
  const Work counted = [&](std::int64_t count) {
    const Joules before = cpu.read().energy;
    burn(count);
    cpu_time += (cpu.read().energy - before) / Watts(1);
    iterations += static_cast<double>(count);
  };
  const WindowSummary summary = measure_windows(real, counted, options);
  if (!summary.stable) {
    throw Error(ErrorKind::kUnstable, "calibration with meter " + real.info().name +
                                          " did not settle; stop other programs or allow a larger budget");
  }
  if (!(cpu_time.value() > 0)) throw Error(ErrorKind::kNoMeter, "calibration: the work used no CPU time");
  return summary.energy / (cpu_time / iterations);
}

}  // namespace ampere
