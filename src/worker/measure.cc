#include "worker/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "base/statistics.h"
#include "meter/timing.h"
#include "meter/window.h"

namespace ampere::worker {
namespace {

// The framework picks kernels, plans and memory in the first iterations.
constexpr int kSettlingSteps = 3;
constexpr int kHostSamples = 25;
// Enough steps in one capture that launching it hardly counts beside them; what it costs is taken off
// besides. Capturing takes the host's time, so where only time is wanted there are fewer.
struct CaptureLength {
  double seconds;
  int most_steps;
};
constexpr CaptureLength kForEnergy{0.01, 64};
constexpr CaptureLength kForTime{0.002, 16};

// Time to issue one iteration while the device has nothing else to do. Slow iterations are sampled
// less, but three times at least.
double host_seconds(Training& trainer, Device& device, Phase phase, double budget_s) {
  std::vector<double> samples;
  const Seconds begin = now();
  for (int i = 0; i < kHostSamples && (i < 3 || (now() - begin).value() < budget_s); ++i) {
    device.synchronise();
    const Seconds start = now();
    trainer.step(phase);
    samples.push_back((now() - start).value());
  }
  device.synchronise();
  return median(samples);
}

double eager_seconds(Training& trainer, Device& device, Phase phase) {
  device.synchronise();
  const Seconds start = now();
  trainer.step(phase);
  device.synchronise();
  return (now() - start).value();
}

struct Captured {
  std::unique_ptr<Replay> replay;  // null: measure eagerly
  int steps = 1;
  std::string note;
};

Captured capture(Training& trainer, Device& device, Phase phase, const CaptureLength& length) {
  if (device.is_cpu()) return {nullptr, 1, "a CPU has nothing to replay: measured eagerly"};
  const double step_s = eager_seconds(trainer, device, phase);
  const int steps = std::clamp(static_cast<int>(std::ceil(length.seconds / step_s)), 2, length.most_steps);
  try {
    return {device.capture([&] { trainer.step(phase); }, steps), steps, ""};
  } catch (...) {
    const Error error = device.explain(std::current_exception());
    if (error.kind() == ErrorKind::kOutOfMemory) throw;
    return {nullptr, 1,
            std::string("measured eagerly, since the steps could not be captured: ") + error.what()};
  }
}

void meter_energy(Measurement& m, const MeasureRequest& request, const Work& work, double steps,
                  MeterInUse& source) {
  WindowOptions options;
  options.warm_up = Seconds(request.warm_up_s);
  options.window = Seconds(request.window_s);
  options.target_error = request.target_error;
  options.min_windows = request.min_windows;
  options.max_windows = std::max(options.max_windows, request.min_windows);
  options.min_ticks = request.min_ticks;
  options.budget = Seconds(request.budget_s);
  options.discard_first = request.discard_first;
  options.character = source.character;
  options.idle = source.idle;
  const WindowSummary summary = measure_windows(*source.meter, work, options);
  m.energy_j = summary.energy.value() / steps;
  m.time_s = summary.time.value() / steps;
  m.energy_error = summary.energy_error;
  m.time_error = summary.time_error;
  m.windows = static_cast<int>(summary.windows.size());
  m.outliers = summary.outliers;
  double rounds = 0;
  for (const Window& w : summary.windows) rounds += w.iterations;
  m.iterations = std::llround(rounds * steps);
  m.stable = summary.stable;
  m.modelled = source.meter->info().modelled;
  m.metering_overhead = summary.overhead;
  m.discrepancy = summary.discrepancy;
  m.drift = summary.drift;
  m.meter = source.meter->info().name;
  m.before = summary.before;
  m.after = summary.after;
}

void meter_time(Measurement& m, const MeasureRequest& request, const Work& work, double steps) {
  TimingOptions options;
  options.window = Seconds(request.window_s);
  options.target_error = request.target_error;
  options.min_windows = request.min_windows;
  options.max_windows = std::max(options.max_windows, request.min_windows);
  options.budget = Seconds(request.budget_s);
  const Timing timing = measure_time(work, options);
  m.time_s = timing.time.value() / steps;
  m.time_error = timing.error;
  m.windows = timing.windows;
  m.outliers = timing.outliers;
  m.iterations = std::llround(static_cast<double>(timing.iterations) * steps);
  m.stable = timing.stable;
}

// The part of a captured step that stands for the loop around the others: calling modules costs nothing in
// C++.
bool is_loop(const Network& network) {
  const auto& nodes = network.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& n) { return n.op == Op::kCalls && !n.list("host").empty(); });
}

Measurement loop_alone(const MeasureRequest& request, const Device& device, const MeterInUse* source) {
  constexpr double kNextToNothing = 1e-9;
  Measurement m;
  m.time_s = kNextToNothing;
  if (!device.is_cpu()) m.host_s = kNextToNothing;
  if (request.energy) {
    m.energy_j = kNextToNothing;
    m.meter = source->meter->info().name;
    m.modelled = source->meter->info().modelled;
  }
  m.windows = 1;
  m.iterations = 1;
  m.stable = true;
  m.mode = device.is_cpu() ? "eager" : "replay";
  m.note = "the training loop alone, which costs nothing here";
  return m;
}

}  // namespace

Measurement measure(const MeasureRequest& request, Device& device, MeterInUse* source) {
  if (is_loop(request.network)) return loop_alone(request, device, source);
  // Measured once, while there is still room for it.
  const double launch_s = request.mode == MeasureMode::kReplay ? device.launch_seconds() : 0;
  TrainerOptions training;
  training.loss = request.loss;
  training.input_grad = request.input_grad;
  training.recipe = request.recipe;
  const std::unique_ptr<Training> started = device.start(request.network, request.batch, training);
  Training& trainer = *started;
  for (int i = 0; i < kSettlingSteps; ++i) trainer.step(Phase::kIteration);
  const Phase phase = request.phase;
  if (phase != Phase::kIteration) trainer.step(phase);
  device.synchronise();

  Measurement m;
  const double host_budget_s = request.budget_s * (request.energy ? 0.1 : 0.3);
  if (!device.is_cpu()) m.host_s = host_seconds(trainer, device, phase, host_budget_s);
  Captured captured;
  if (request.mode == MeasureMode::kReplay)
    captured = capture(trainer, device, phase, request.energy ? kForEnergy : kForTime);
  const Work work = [&](std::int64_t rounds) {
    for (std::int64_t i = 0; i < rounds; ++i) {
      if (captured.replay) {
        captured.replay->launch();
      } else {
        trainer.step(phase);
      }
    }
    device.synchronise();
  };
  const double steps = (captured.replay ? captured.steps : 1) * trainer.iterations_per_step();
  if (m.host_s) *m.host_s /= trainer.iterations_per_step();
  if (request.energy) {
    meter_energy(m, request, work, steps, *source);
  } else {
    work(1);
    meter_time(m, request, work, steps);
  }
  if (captured.replay) {
    m.kernels = captured.replay->kernels();
    // The device stands still meanwhile.
    const double launch = std::min(launch_s / steps, m.time_s / 2);
    m.time_s -= launch;
    if (m.energy_j) *m.energy_j -= std::min(source->idle.value() * launch, *m.energy_j / 2);
  }
  m.mode = captured.replay ? "replay" : "eager";
  m.note = captured.note;
  // For seconds at a time a host may be twice as slow as it can be, never faster. A metered point takes long
  // enough to look twice.
  if (m.host_s && request.energy) {
    captured.replay = nullptr;
    m.host_s = std::min(*m.host_s,
                        host_seconds(trainer, device, phase, host_budget_s) / trainer.iterations_per_step());
  }
  return m;
}

std::int64_t measure_memory(const Network& network, std::int64_t batch, const Recipe& recipe,
                            Device& device) {
  return device.peak_memory([&] {
    TrainerOptions training;
    training.recipe = recipe;
    const std::unique_ptr<Training> trainer = device.start(network, batch, training);
    for (int i = 0; i < kSettlingSteps; ++i) trainer->step(Phase::kIteration);
    device.synchronise();
  });
}

IdlePower measure_idle(double seconds, Device& device, MeterInUse& source) {
  device.synchronise();
  auto sleep = [](Seconds s) { std::this_thread::sleep_for(std::chrono::duration<double>(s.value())); };
  const Seconds start = now();
  if (source.meter->info().modelled) {  // counts what this process does, so standing still is its answer
    const Joules before = source.meter->read().energy;
    sleep(Seconds(seconds));
    const Joules energy = source.meter->read().energy - before;
    const Seconds time = now() - start;
    return {(energy / time).value(), time.value()};
  }
  try {
    source.idle_known = true;  // also where it cannot be told: asking again would not help
    source.idle =
        average_power(*source.meter, sleep, Seconds(seconds), source.character.value_or(MeterCharacter{}));
    return {source.idle.value(), (now() - start).value()};
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kNoMeter) throw;
    return {std::nullopt, (now() - start).value()};
  }
}

TrainSummary train(const Network& network, std::int64_t batch, const Recipe& recipe, std::int64_t iterations,
                   Device& device) {
  TrainerOptions training;
  training.recipe = recipe;
  training.learning_rate = recipe.optimizer == "adam" ? 1e-3 : 1e-2;
  const std::unique_ptr<Training> trainer = device.start(network, batch, training);
  TrainSummary summary;
  device.synchronise();
  const Seconds start = now();
  for (std::int64_t i = 0; i < iterations; ++i) {
    trainer->step(Phase::kIteration);
    if (i == 0) summary.loss_first = trainer->last_loss().value_or(0);
  }
  device.synchronise();
  summary.time_s = (now() - start).value();
  summary.loss_last = trainer->last_loss().value_or(0);
  return summary;
}

}  // namespace ampere::worker
