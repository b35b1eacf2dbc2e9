#include "session/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "measure/measurement.h"
#include "meter/open.h"
#include "network/network_json.h"
#include "profile/whole_networks.h"
#include "session/session.h"

namespace ampere {
namespace {

// Turns are short; this is for a worker that hangs, and for reading the data at first.
constexpr double kMostSeconds = 1800;

constexpr double kSlowLearning = 1e-3;
// Frameworks choose kernels and memory in the first iterations.
constexpr std::int64_t kFirstIterations = 20;

// Judged per iteration, as a measurement is. No energy: a slow counter may miss a turn.
void require_plausible_turn(double energy_j, double time_s, std::int64_t iterations) {
  const auto count = static_cast<double>(iterations);
  std::optional<double> each;
  if (energy_j != 0) each = energy_j / count;
  require_plausible(each, time_s / count, std::nullopt, "train");
}

class Turns {
 public:
  Turns(WorkerClient& worker, const TrainingOptions& options) : worker_(worker), options_(options) {}

  void begin(TrainedNetwork& n, bool test = true) {
    take(n, {{"run", n.label},
             {"network", network_to_json(n.network)},
             {"data", options_.data},
             {"batch", options_.batch},
             {"recipe", to_json(options_.recipe)},
             {"meter", options_.meter},
             {"iterations", 0},
             {"evaluate", test}});
  }

  void go_on(TrainedNetwork& n, std::int64_t done, std::int64_t iterations) {
    const std::int64_t then = done + iterations;
    const double left = 1 - static_cast<double>(done) / static_cast<double>(options_.iterations);
    take(n, {{"run", n.label},
             {"iterations", iterations},
             {"learning_rate", options_.learning_rate * left},
             {"meter", options_.meter},
             {"evaluate", then == options_.iterations || then % options_.test_every == 0}});
  }

  // Without a test, and learning little: for what it takes.
  void stretch(TrainedNetwork& n, std::int64_t iterations, bool needs_energy = true) {
    take(n,
         {{"run", n.label},
          {"iterations", iterations},
          {"learning_rate", kSlowLearning},
          {"meter", options_.meter},
          {"evaluate", false}},
         needs_energy);
  }

  void end(const TrainedNetwork& n) {
    worker_.call("train", {{"run", n.label}, {"end", true}}, kMostSeconds);
  }

  std::string meter;
  bool modelled = false;

 private:
  void take(TrainedNetwork& n, const Json& params, bool needs_energy = true) {
    bool no_energy = false;
    const Json answer = worker_.call("train", params, kMostSeconds);
    read_answer(worker_, [&] {
      const JsonReader r(answer, "train");
      const std::int64_t iterations = r.integer("iterations");
      if (iterations > 0) {
        no_energy = answer.at("energy_j").is_null();
        const double energy_j = no_energy ? 0 : r.number("energy_j");
        require_plausible_turn(energy_j, r.number("time_s"), iterations);
        n.energy_j += energy_j;
        n.time_s += r.number("time_s");
        loss_ = r.has("loss_last") && answer.at("loss_last").is_number() ? r.number("loss_last") : 0;
      }
      meter = r.text("meter");
      if (!options_.meter.empty() && !meter.empty() && !same_meter(options_.meter, meter))
        throw bad_input("train: it read the meter " + meter + " where " + options_.meter + " was asked for");
      modelled = r.boolean("modelled", false);
      if (!answer.at("test_loss").is_number()) return;
      n.curve.push_back({r.integer("iterations_in_all"), n.energy_j, n.time_s, loss_, r.number("test_loss"),
                         r.number("test_accuracy")});
    });
    if (no_energy && needs_energy) {
      throw Error(ErrorKind::kNoMeter,
                  "the meter " + meter +
                      " stood still during a turn; take longer turns (--turn) or another "
                      "meter (--meter)");
    }
  }

  WorkerClient& worker_;
  const TrainingOptions& options_;
  double loss_ = 0;
};

// Networks that are compared: each keeps its run, and all train as many iterations at a time.
class Stretches {
 public:
  Stretches(WorkerClient& worker, const TrainingOptions& options, double seconds)
      : options_(options), turns_(worker, options_), seconds_(seconds) {}

  double energy(const Network& network) {
    const std::string label = "check/" + whole_name(network, options_.batch);
    const auto [at, is_new] = networks_.try_emplace(label);
    TrainedNetwork& n = at->second;
    if (is_new) {
      n.label = label;
      n.network = network;
      turns_.begin(n, false);
      settle(n);
    }
    const double before = n.energy_j;
    turns_.stretch(n, iterations_);
    return n.energy_j - before;
  }

 private:
  void settle(TrainedNetwork& n) {
    turns_.stretch(n, kFirstIterations, false);
    if (iterations_ > 0) return;
    const double before = n.time_s;
    turns_.stretch(n, kFirstIterations, false);
    const double one_s = (n.time_s - before) / static_cast<double>(kFirstIterations);
    iterations_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(seconds_ / one_s)));
  }

  const TrainingOptions options_;
  Turns turns_;
  double seconds_;
  std::int64_t iterations_ = 0;
  std::map<std::string, TrainedNetwork> networks_;
};

}  // namespace

Training train_in_turns(WorkerClient& worker, std::vector<TrainedNetwork> networks,
                        const TrainingOptions& options,
                        const std::function<void(std::int64_t done, std::int64_t of)>& progress) {
  Turns turns(worker, options);
  for (TrainedNetwork& n : networks) turns.begin(n);
  for (std::int64_t done = 0; done < options.iterations;) {
    progress(done, options.iterations);
    // A turn ends where a test is due.
    const std::int64_t due = (done / options.test_every + 1) * options.test_every;
    const std::int64_t next = std::min({done + options.turn, due, options.iterations});
    for (TrainedNetwork& n : networks) turns.go_on(n, done, next - done);
    done = next;
  }
  for (const TrainedNetwork& n : networks) turns.end(n);
  return {std::move(networks), turns.meter, turns.modelled};
}

TrainingEnergy energy_on_data(WorkerClient& worker, const TrainingOptions& options, double seconds) {
  const auto stretches = std::make_shared<Stretches>(worker, options, seconds);
  return [stretches](const Network& network) { return stretches->energy(network); };
}

}  // namespace ampere
