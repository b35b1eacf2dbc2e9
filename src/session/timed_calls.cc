#include <algorithm>
#include <cmath>
#include <random>

#include "ampere/profile.h"
#include "base/error.h"
#include "base/statistics.h"
#include "layers/parse.h"
#include "model/part_work.h"
#include "model/roof.h"
#include "model/surface_plan.h"
#include "network/network_json.h"
#include "session/access.h"

namespace ampere {
namespace {

// Building a step, and running it some ten times.
constexpr double kTimingSeconds = 180;
// Of a step those kinds are kept that should take the longest, and some of the others. What they did take
// must not decide: of calls that are alike only the slow ones would be kept, and all would be believed to be
// slow.
constexpr std::size_t kLongestOfAStep = 28;
constexpr std::size_t kOthersOfAStep = 12;
// How well the same call's time comes again in another network of its sort.
constexpr double kLeastTimingError = 0.05;

// Seconds of each call of the step.
std::vector<double> ask_for_times(const Session& session, const Network& step, const Recipe& recipe) {
  Json answer;
  try {
    answer = session.worker->call(
        "time_calls", {{"network", network_to_json(step)}, {"recipe", to_json(recipe)}}, kTimingSeconds);
  } catch (const Error& e) {
    const std::string why = e.what();
    if (e.kind() != ErrorKind::kBadInput || why.find("verb") == std::string::npos) throw;
    throw bad_input("the worker (" + session.worker->command() +
                    ") cannot time calls within a step; python -m ampere.worker can");
  }
  return read_answer(*session.worker, [&] {
    std::vector<double> times;
    for (const Json& seconds : JsonReader(answer, "time_calls").array("times_s")) {
      times.push_back(seconds.get<double>());
      require_plausible(std::nullopt, times.back(), std::nullopt, "time_calls");
    }
    return times;
  });
}

Measurement within_step(const std::vector<double>& seconds) {
  Measurement m;
  m.time_s = median(seconds);
  m.time_error =
      seconds.size() > 1 ? std::max(relative_error_of_median(seconds), kLeastTimingError) : kLeastTimingError;
  m.windows = static_cast<int>(seconds.size());
  m.iterations = m.windows;
  m.stable = true;
  m.mode = "replay";
  m.note = "within a training step";
  return m;
}

// What all calls of a kind should take, as far as their work tells.
double believed_s(const Layer& layer, std::size_t calls, const Roof& roof, const std::string& recipe) {
  try {
    double sum = 0;
    for (const CountedWork& w : work_of_part(layer.kind, recipe).value_or(std::vector<CountedWork>{}))
      sum += w.count * roof.seconds(w.work);
    return sum * static_cast<double>(calls);
  } catch (const Error&) {  // nobody can tell
    return 0;
  }
}

// Those of `kinds` that are kept; which of the others, goes by nothing that was measured.
std::vector<std::size_t> kept_of(std::vector<std::size_t> kinds, const std::vector<double>& believed) {
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](std::size_t a, std::size_t b) { return believed[a] > believed[b]; });
  const std::size_t longest = std::min(kinds.size(), kLongestOfAStep);
  std::mt19937 random(static_cast<std::mt19937::result_type>(kinds.size()));
  std::shuffle(kinds.begin() + static_cast<std::ptrdiff_t>(longest), kinds.end(), random);
  kinds.resize(std::min(kinds.size(), longest + kOthersOfAStep));
  return kinds;
}

}  // namespace

int time_calls(Device& device, const Model& step, const Model& kinds, const std::vector<StepCall>& calls,
               const TrainingSetup& setup) {
  const Session& session = DeviceAccess::session(device, "timing calls");
  check(setup);
  DeviceProfile& profile = DeviceAccess::profile(device, setup.recipe);
  const std::vector<Layer> layers = parse_layers(ModelAccess::loaded(kinds).network, setup.batch);
  std::vector<std::vector<double>> seconds(layers.size());
  for (const StepCall& call : calls) {
    if (call.kind < 0 || call.kind >= static_cast<int>(layers.size()) || call.calls.empty())
      throw bad_input("a call of the step is of a kind that is not there");
  }
  const std::vector<double> times = ask_for_times(session, ModelAccess::loaded(step).network, setup.recipe);
  for (const StepCall& call : calls) {
    double sum = 0;
    for (const int number : call.calls) {
      if (number < 0 || number >= static_cast<int>(times.size()))
        throw bad_input("the step has no call " + std::to_string(number));
      sum += times[static_cast<std::size_t>(number)];
    }
    seconds[static_cast<std::size_t>(call.kind)].push_back(sum);
  }
  const std::vector<SurfacePlan> plans = split_plans(layers);
  std::map<std::string, const SurfacePlan*> by_layer;
  for (const SurfacePlan& plan : plans) by_layer[plan.layer_key] = &plan;
  const Roof roof = believed_roof(profile.call_style().accelerator);
  std::vector<std::size_t> kinds_called;
  std::vector<double> believed(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (seconds[i].empty()) continue;
    kinds_called.push_back(i);
    believed[i] = believed_s(layers[i], seconds[i].size(), roof, profile.recipe());
  }
  const std::vector<std::size_t> kept = kept_of(std::move(kinds_called), believed);
  Store::Transaction transaction(profile.store());
  for (const std::size_t i : kept) {
    const StoredSurface surface = probe_of(by_layer.at(layers[i].key())->surface, Purpose::kWithin);
    if (!profile.points(surface.name).empty()) continue;
    profile.add_point(surface, layers[i].channels, "{}", within_step(seconds[i]));
  }
  transaction.commit();
  return static_cast<int>(kept.size());
}

}  // namespace ampere
