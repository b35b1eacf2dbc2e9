#include "board/board_session.h"

#include <cmath>

#include "ampere/version.h"
#include "measure/measurement.h"
#include "meter/timing.h"

namespace ampere {
namespace {

class BoardMeter : public Meter {
 public:
  BoardMeter(Board& board, bool blind)
      : board_(board),
        blind_(blind),
        info_{board.sheet().counter, "board", true, "simulated: " + board.sheet().description} {}
  const MeterInfo& info() const override { return info_; }
  Reading read() override { return board_.read(); }
  DeviceState state() override { return blind_ ? DeviceState{} : board_.state(); }

 private:
  Board& board_;
  bool blind_;
  MeterInfo info_;
};

LayerRole role_of_single(const MeasureRequest& request) {
  if (request.input_grad) return request.loss ? LayerRole::kOutput : LayerRole::kHidden;
  return request.loss ? LayerRole::kOnly : LayerRole::kInput;
}

}  // namespace

BoardSession::BoardSession(Board board, RecordedCosts costs, BoardOptions options)
    : board_(std::move(board)), costs_(std::move(costs)), options_(options) {}

std::string BoardSession::answer(const std::string& line) {
  std::int64_t id = -1;
  try {
    const Request request = request_from_line(line);
    id = request.id;
    return result_line(id, dispatch(request));
  } catch (const Error& e) {
    return error_line(id, e);
  }
}

Json BoardSession::dispatch(const Request& request) {
  if (request.verb == "hello")
    return {{"protocol", kProtocolVersion},
            {"worker", "simulated-board"},
            {"version", kVersion},
            {"framework", "simulated"}};
  if (request.verb == "detect") return detect();
  if (request.verb == "idle") return idle(request.params);
  if (request.verb == "measure") return measure(request.params);
  if (request.verb == "shutdown") {
    ended_ = true;
    return Json::object();
  }
  throw bad_input("unknown verb \"" + request.verb + "\" (known: hello, detect, idle, measure, shutdown)");
}

Json BoardSession::detect() const {
  const BoardSheet& b = board_.sheet();
  return {{"device",
           {{"name", "simulated " + b.name},
            {"type", "cpu"},
            {"cores", b.cores},
            {"core_kinds", b.core_kinds},
            {"governor", b.governor},
            {"memory_bytes", static_cast<std::int64_t>(b.memory_bytes)},
            {"driver", ""},
            {"framework", "simulated"},
            {"blas", ""},
            {"threads", 1},
            {"allocator", ""}}},
          {"meters", Json::array({{{"name", b.counter},
                                   {"scope", "board"},
                                   {"modelled", true},
                                   {"available", true},
                                   {"why", ""},
                                   {"description", "simulated: " + b.description}}})},
          {"default_meter", b.counter}};
}

Json BoardSession::idle(const Json& params) {
  const JsonReader r(params, "idle");
  const double seconds = r.number("seconds", 1);
  const double before_j = board_.read().energy.value(), start_s = board_.time().value();
  board_.rest(std::max(seconds, 4 * board_.sheet().tick_s));
  const double energy_j = board_.read().energy.value() - before_j;
  const double taken_s = board_.time().value() - start_s;
  return {{"power_w", energy_j > 0 ? Json(energy_j / taken_s) : Json()},
          {"seconds", taken_s},
          {"meter", board_.sheet().counter},
          {"modelled", true}};
}

BoardSession::Step BoardSession::step_of(const MeasureRequest& request) {
  const double best = board_.sheet().slower;
  Step step{board_.sheet().step_s, 0};
  double joules = 0;
  const std::vector<Layer> layers = parse_layers(request.network, request.batch);
  for (const Layer& layer : layers) {
    const LayerRole role = layers.size() == 1 ? role_of_single(request) : layer.role;
    const auto what = std::make_tuple(std::string(to_word(role)), layer.kind.word(), layer.channels);
    auto seen = seen_.find(what);
    if (seen == seen_.end()) seen = seen_.emplace(what, costs_.of(layer, role)).first;
    const RecordedCost& cost = seen->second;
    step.seconds += best * cost.time_s;
    joules += best * cost.time_s * cost.load;
  }
  step.load = joules / step.seconds;
  return step;
}

Json BoardSession::measure(const Json& params) {
  const MeasureRequest request = measure_request_from_json(params);
  if (request.phase != Phase::kIteration) throw bad_input("a simulated board measures whole iterations only");
  if (!request.meter.empty() && request.meter != board_.sheet().counter)
    throw bad_input("no meter is called '" + request.meter + "'; known: " + board_.sheet().counter);
  const Step step = step_of(request);
  const Clock clock = [this] { return board_.time(); };
  const Work work = [&](std::int64_t count) {
    board_.work(static_cast<double>(count) * step.seconds, step.load);
  };
  BoardMeter meter(board_, options_.blind);
  Measurement m;
  m.mode = "eager";
  m.modelled = true;
  if (!request.energy) {
    TimingOptions options;
    options.window = Seconds(request.window_s);
    options.target_error = request.target_error;
    options.min_windows = request.min_windows;
    options.budget = Seconds(request.budget_s);
    options.clock = clock;
    const Timing timing = measure_time(work, options);
    m.time_s = timing.time.value();
    m.time_error = timing.error;
    m.windows = timing.windows;
    m.iterations = timing.iterations;
    m.stable = timing.stable;
    return to_json(m);
  }
  if (!character_) {
    CharacteriseOptions how;
    how.clock = clock;
    character_ = characterise(
        meter, [this] { board_.rest(1e-3); }, how);
  }
  WindowOptions options;
  options.warm_up = Seconds(request.warm_up_s);
  options.window = Seconds(request.window_s);
  options.target_error = request.target_error;
  options.min_windows = request.min_windows;
  options.max_windows = std::max(options.max_windows, request.min_windows);
  options.min_ticks = request.min_ticks;
  options.budget = Seconds(request.budget_s);
  options.discard_first = request.discard_first;
  if (character_->moves) options.character = character_;
  options.clock = clock;
  const WindowSummary summary = measure_windows(meter, work, options);
  m.energy_j = summary.energy.value();
  m.time_s = summary.time.value();
  m.energy_error = summary.energy_error;
  m.time_error = summary.time_error;
  m.windows = static_cast<int>(summary.windows.size());
  m.outliers = summary.outliers;
  double rounds = 0;
  for (const Window& w : summary.windows) rounds += w.iterations;
  m.iterations = std::llround(rounds);
  m.stable = summary.stable;
  m.meter = board_.sheet().counter;
  m.metering_overhead = summary.overhead;
  m.drift = summary.drift;
  m.before = summary.before;
  m.after = summary.after;
  return to_json(m);
}

}  // namespace ampere
