// ampere estimate: what training a network will cost, from profiles alone. Needs no worker, unless it is to
// probe.
#include "session/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "ampere/schedule.h"
#include "answers/estimate_answer.h"
#include "base/error.h"
#include "base/quantity_text.h"
#include "common.h"
#include "measure/recipe.h"
#include "profile_command.h"
#include "session/sheet.h"
#include "tariff_options.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct EstimateArguments {
  CommonOptions common;
  ModelOptions model;
  std::vector<std::int64_t> batches;  // several give a table; model.batch is the one at hand
  std::string method = "split";
  std::int64_t epochs = 1;
  std::int64_t samples = 0;
  bool all_layers = false;
  bool probe = false;
  bool exact = false;
  std::string mode = "eager";
  std::string sheet;    // empty: what was measured tells
  std::string battery;  // empty: not asked
  std::string risk = "5%";
  TariffOptions tariff;
  std::string power_limit;  // empty: as the device comes
  double clock_mhz = 0;     // 0: as the device comes
  bool sustained = false;   // as warm as the training makes the device
  std::string memory;       // empty: what the device has, where that is known

  bool probes() const { return probe || exact; }
  MeasureMode training() const { return mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager; }
  EstimateOptions asked() const {
    return {method, training(), probe, exact, power_limit.empty() ? 0 : limit_watts(power_limit), clock_mhz};
  }
};

// Shares near 0 and 1 keep the digits that tell them apart from those.
std::string probability_text(double p) {
  if (p > 0.9995) return "over 99.9%";
  if (p < 0.0005) return "under 0.1%";
  return fmt::format("{:.1f}%", 100 * p);
}

void print_battery(const EstimateArguments& o, const EstimateAnswer& a) {
  const Admission& b = *a.battery;
  say(fmt::format(
      "battery of {}: the job {}. It ends before the battery does with probability {}; at a risk of {} "
      "it needs {}, {} {} than there is",
      o.battery, b.fits ? "fits" : "does not fit", probability_text(b.probability), percent_text(a.risk),
      joules_text(b.needed_j), joules_text(std::abs(b.margin_j)), b.fits ? "less" : "more"));
}

void print_warmth(const EstimateAnswer& a) {
  const SustainedCost& w = *a.warm;
  if (w.seconds_until_slow <= 0) {
    say(fmt::format(
        "sustained: nothing slows it down at {}; warm it takes {:.2f} times the energy of a cold device",
        watts_text(w.power_w), w.energy));
    return;
  }
  say(fmt::format(
      "sustained: after {} the device slows down to {}; {} takes {:.2f} times the energy and {:.2f} times "
      "the time of a cold device",
      duration_text(w.seconds_until_slow), watts_text(w.power_w),
      a.job.iterations > 0 ? "the job" : "an iteration then", w.energy, w.time));
}

void print_memory(const EstimateArguments& o, const EstimateAnswer& a) {
  const MemoryEstimate& m = a.memory.needed;
  if (!a.memory.fits) {
    say(refusal_text(a.memory, a.model, o.model.batch));
    return;
  }
  say(fmt::format(
      "memory: {} at the most{}{}; weights {}, gradients {}, optimizer {}, kept for the backward "
      "pass {}, only then {}",
      bytes_text(m.peak_bytes),
      a.memory.memory_bytes ? " of " + bytes_text(*a.memory.memory_bytes) : std::string(),
      m.rough ? " (about: it is compiled)" : "", bytes_text(m.weights_bytes), bytes_text(m.gradients_bytes),
      bytes_text(m.optimizer_bytes), bytes_text(m.saved_bytes), bytes_text(m.temporaries_bytes)));
}

// What the user could change, told by where the time goes.
void print_advice(const EstimateAnswer& a) {
  const Estimate& e = a.estimate;
  const double n = a.job.iterations > 0 ? a.job.iterations : 1;
  const std::string each = a.job.iterations > 0 ? "per job" : "per iteration";
  if (e.regime == Regime::kHost) {
    say(fmt::format(
        "host-bound: the device works {} of the {} an iteration takes and waits for the host for the "
        "rest, at {}. A larger batch, or steps captured in a CUDA graph (--mode replay), would save up "
        "to {} {}",
        seconds_text(e.device_time_s), seconds_text(e.time_s.value), watts_text(e.idle_power_w),
        joules_text(n * e.fixed_energy_j), each));
  } else if (e.regime == Regime::kDevice) {
    say(fmt::format("device-bound: the device is busy all the time; fewer channels{} would save energy",
                    a.setup.recipe.precision == "bf16" ? "" : " or a lower precision"));
  }
  if (a.tuned && a.tuned->energy_j.value < 0.97 * e.energy_j.value) {
    say(fmt::format(
        "kernel autotuning (torch.backends.cudnn.benchmark; --autotune on) would save {} {}: {} instead "
        "of {} per iteration",
        joules_text(n * (e.energy_j.value - a.tuned->energy_j.value)), each,
        joules_text(a.tuned->energy_j.value), joules_text(e.energy_j.value)));
  }
}

std::string networks_were(int count) {
  return count == 1 ? "1 whole network was" : fmt::format("{} whole networks were", count);
}

// So small a share of the energy is not worth measuring.
constexpr double kNextToNothing = 0.0005;

// How far above the value the interval reaches.
double half_width_percent(const Interval& i) { return i.value > 0 ? 100 * (i.high / i.value - 1) : 0; }

// What measuring would bring, of one batch or of several.
void print_gain(const std::vector<const Estimate*>& all) {
  double least_unmeasured = 1, most_unmeasured = 0, seconds = 0;
  std::size_t layers = 0;
  std::vector<double> after, before;
  for (const Estimate* e : all) {
    const MeasuringGain gain = e->gain.value_or(MeasuringGain{});
    least_unmeasured = std::min(least_unmeasured, e->unmeasured);
    most_unmeasured = std::max(most_unmeasured, e->unmeasured);
    layers += gain.layers;
    seconds += gain.seconds;
    after.push_back(half_width_percent(e->gain ? gain.energy_j : e->energy_j));
    before.push_back(half_width_percent(e->energy_j));
  }
  if (most_unmeasured <= kNextToNothing) return;
  const bool several = all.size() > 1;
  const auto range = [](const std::vector<double>& widths) {
    const auto [least, most] = std::minmax_element(widths.begin(), widths.end());
    const std::string low = fmt::format("{:.0f}%", *least), high = fmt::format("{:.0f}%", *most);
    return low == high ? high : low + " to " + high;
  };
  say(fmt::format(
      "{} of {} is of layers that were never measured on the device; what else was measured tells them. "
      "Where the device is, --exact (or --probe) would measure {} layer{} in about {} and leave {} of {} "
      "instead of {}",
      (least_unmeasured < most_unmeasured ? "up to " : "") + percent_text(most_unmeasured),
      several ? "these energies" : "this energy", layers, layers == 1 ? "" : "s", duration_text(seconds),
      several ? "intervals" : "an interval", range(after), range(before)));
}

void print_text(const EstimateArguments& o, const EstimateAnswer& a) {
  const Estimate& e = a.estimate;
  const JobLength& job = a.job;
  print("{} at batch {} on {}, {}{}, meter {}{}\n\n", a.model, o.model.batch,
        a.device.fingerprint.value("name", "?"), o.model.recipe.word(),
        o.training() == MeasureMode::kReplay ? ", replayed" : "", a.device.fingerprint.value("meter", "?"),
        e.modelled ? " (modelled, not measured, energy)" : "");
  Table table{{"layer", "role", "kind", "channels", "energy", "time", "share"},
              {},
              {false, false, false, false, true, true, true},
              2};
  constexpr std::size_t kMostRows = 40;
  for (const LayerEstimate& l : e.layers) {
    if (table.rows.size() == kMostRows && !o.all_layers) break;
    table.rows.push_back({l.name, to_word(l.role), l.kind,
                          fmt::format("{}>{}{}", l.channels.in, l.channels.out,
                                      l.extrapolated          ? "!"
                                      : l.measured || a.sheet ? ""
                                                              : "~"),
                          joules_text(l.energy_j.value), seconds_text(l.time_s.value),
                          percent_text(l.energy_j.value / e.energy_j.value)});
  }
  print(table);
  if (e.layers.size() > table.rows.size())
    print("... {} more layers (--all shows them)\n", e.layers.size() - table.rows.size());
  if (e.unmeasured > 0 && !a.sheet) print("~ never measured\n");
  for (const LayerEstimate& l : e.layers) {
    if (l.extrapolated) {
      print("! outside the profiled channels; this widens them: {}\n",
            profile_command(o.model, o.common, o.method));
      break;
    }
  }
  print("\n");
  Table total{{"", "energy (95% interval)", "time (95% interval)"}, {}, {}, -1};
  auto row = [&](const std::string& what, double n) {
    total.rows.push_back(
        {what, interval_text(e.energy_j * n, joules_text), interval_text(e.time_s * n, seconds_text)});
  };
  row("iteration", 1);
  if (job.iterations > 0) {
    row(fmt::format("epoch ({:.0f} iterations)", job.iterations_per_epoch), job.iterations_per_epoch);
    row(fmt::format("job ({} epoch{})", o.epochs, o.epochs == 1 ? "" : "s"), job.iterations);
  }
  print(total);
  print("\n");
  if (e.power_limit_w > 0 || e.clock_mhz > 0)
    say(fmt::format("at {}: modelled, by what such settings did to other networks (docs/tuning.md)",
                    PowerSetting{e.power_limit_w, e.clock_mhz}.text()));
  if (!a.tariff.empty()) {
    say(fmt::format("{}: {} at {}", job.iterations > 0 ? "the job" : "a million iterations",
                    bill_text(a.tariff, e.energy_j * (job.iterations > 0 ? job.iterations : 1e6)),
                    tariff_text(a.tariff)));
  }
  if (a.battery) print_battery(o, a);
  print_memory(o, a);
  if (a.warm) print_warmth(a);
  print_advice(a);
  if (a.probed) {
    say(fmt::format("probed {} of its {} layers in {} ({} were known); they are kept", a.probed->measured,
                    a.probed->layers, duration_text(a.probed->seconds), a.probed->known));
  }
  if (a.sheet) {
    say(sheet_note(*a.sheet));
  } else {
    print_gain({&e});
  }
  if (e.composition_networks > 0 && e.regime == Regime::kSingle) {
    say(fmt::format("sums of layers are scaled by {:.3f}: {} trained after profiling to learn it",
                    e.composition_factor, networks_were(e.composition_networks)));
  } else if (e.composition_networks > 0) {
    say(fmt::format("{} trained beside profiling to learn how layers add up",
                    networks_were(e.composition_networks)));
  } else if (!a.sheet && find_method(e.method).learns_composition) {
    say("no whole network of this family was trained yet, so the interval is a cautious one (ampere profile "
        "trains some)");
  }
}

// The device that the store would have been asked about; absent where there is no store yet.
std::optional<StoredDevice> device_used_last(const EstimateArguments& o) {
  try {
    const StoredDevice device = device_asked_for(Store::to_read(o.common.store), "");
    if (!device.id.empty()) return device;
  } catch (const Error&) {  // whoever opens it for good tells why
  }
  return std::nullopt;
}

std::optional<Session> session_to_probe(const EstimateArguments& o) {
  if (!o.probes()) return std::nullopt;
  try {
    const std::optional<StoredDevice> before = device_used_last(o);
    Session session = open_session(o.common);
    if (before && before->id != session.device_id)
      warn(
          fmt::format("this measures {}, which is here, and not {} ({}), which the store was used for last; "
                      "from now on the store is asked about {}",
                      session.fingerprint.value("name", "?"), before->fingerprint.value("name", "?"),
                      before->id.substr(0, 8), session.device_id.substr(0, 8)));
    return session;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kWorker) throw;
    warn(fmt::format("nothing is probed, since no worker answers: {}", e.what()));
    return std::nullopt;
  }
}

// A worker of another framework on the same machine is another device, and the last one used is asked about.
std::string other_devices(const EstimateArguments& o, const Store& store, const StoredDevice& device) {
  if (!o.common.device.empty() || store.devices().size() < 2) return "";
  return fmt::format(
      "\nthis is about {} ({}), which was used last; for another of the store add --device ID (see: "
      "ampere store list), or",
      device.fingerprint.value("name", "?"), device.id.substr(0, 8));
}

// One network at one batch, with what was asked of it besides.
class Asked {
 public:
  explicit Asked(const EstimateArguments& o) : o_(o), tariff_(o.tariff.tariff()) {
    if (!o.sheet.empty()) sheet_ = find_data_sheet(o.sheet);
    if (o.battery.empty()) return;
    battery_ = parse_energy(o.battery, "--battery");
    risk_ = parse_fraction(o.risk, "--risk", 1e-4, 0.5);
    if (o.samples == 0)
      throw bad_input("--battery is about a whole job; say how long it is: --samples N --epochs N");
  }

  // The data sheet that tells instead of measurements.
  const std::optional<DataSheet>& sheet() const { return sheet_; }

  // With this batch alone.
  void load(std::int64_t batch) {
    EstimateArguments arguments = o_;
    arguments.model.batch = batch;
    LoadedModel model = load_model(arguments.model, o_.common);
    parse_layers(model.network, batch);
    jobs_.push_back({std::move(arguments), std::move(model), {}});
  }

  void probe(const Session& session) {
    DeviceProfile profile(*session.store, session.device_id,
                          stored_word(o_.model.recipe, session.fingerprint));
    for (AskedJob& job : jobs_) {
      job.answer.probed = probe_model(session, profile, job.model.network, setup_of(job.arguments.model), {},
                                      o_.exact, shown(o_.common.quiet || o_.common.json));
    }
  }

  // One after the other, so that what is fitted for one serves the next.
  void estimate(Store& store, const StoredDevice& device) {
    DeviceProfile profile(store, device.id, stored_word(o_.model.recipe, device.fingerprint));
    for (AskedJob& job : jobs_) estimate(store, device, profile, job);
  }

  void print() const {
    if (jobs_.size() == 1) {
      const AskedJob& job = jobs_.front();
      o_.common.json ? print_json(to_json(job.answer)) : print_text(job.arguments, job.answer);
      return;
    }
    if (o_.common.json) {
      Json out = json_header(jobs_.front().answer.device.fingerprint, jobs_.front().answer.estimate.modelled);
      for (const AskedJob& job : jobs_) out["estimates"].push_back(to_json(job.answer));
      print_json(out);
      return;
    }
    print_batches();
  }

  bool fits() const {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const AskedJob& job) {
      return job.answer.memory.fits && (!job.answer.battery || job.answer.battery->fits);
    });
  }

  // What cannot be trained there is refused before anything is measured for it.
  void judge_memories(const Json& fingerprint, std::optional<double> memory_bytes) {
    if (!o_.memory.empty()) memory_bytes = parse_bytes(o_.memory, "--memory");
    for (AskedJob& job : jobs_)
      job.answer.memory = judge_memory(job.model.network, setup_of(job.arguments.model),
                                       memory_place_of(fingerprint), memory_bytes);
    if (jobs_.size() == 1 && !jobs_.front().answer.memory.fits && o_.probes())
      throw Error(ErrorKind::kOverBudget, refusal_text(jobs_.front().answer.memory,
                                                       jobs_.front().model.network.name(), o_.model.batch));
  }

 private:
  struct AskedJob {
    EstimateArguments arguments;
    LoadedModel model;
    EstimateAnswer answer;
  };

  void estimate(Store& store, const StoredDevice& device, DeviceProfile& profile, AskedJob& job) {
    const EstimateArguments& o = job.arguments;
    const Network& network = job.model.network;
    EstimateAnswer& a = job.answer;
    a.device = device;
    a.model = network.name();
    a.setup = setup_of(o.model);
    a.mode = o.training();
    a.sheet = sheet_;
    a.risk = risk_;
    a.tariff = tariff_;
    try {
      a.estimate = estimate_model(profile, network, a.setup, o.asked());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotProfiled) throw;
      if (sheet_)
        throw Error(
            error.kind(),
            fmt::format("{}\nand a data sheet does not tell them: measure them on the device", error.what()));
      const std::string precision = other_precision(store, device, network, a.setup, o.asked());
      throw Error(
          error.kind(),
          fmt::format("{}{}{}\nrun: {}\nor measure the device for any network: {}",
                      store_exists(o.common.store) ? "" : "there is no store at " + o.common.store + " yet: ",
                      error.what(), precision.empty() ? other_devices(o, store, device) : precision,
                      profile_command(o.model, o.common, o.method), device_command(o.model, o.common)));
    }
    a.job = job_length(o.samples, o.model.batch, o.epochs);
    if (o.sustained) sustain(store, device, a);
    if (!sheet_ && !o.model.recipe.autotune) {
      Recipe recipe = o.model.recipe;
      recipe.autotune = true;
      DeviceProfile tuned(store, device.id, stored_word(recipe, device.fingerprint));
      a.tuned = with_autotune(tuned, network, o.model.batch, o.asked());
    }
    if (battery_)
      a.battery = admit(job_cost(a.estimate, a.job.iterations).energy_j, battery_->value(), a.risk);
  }

  // A whole job begins cold; an iteration alone is one of a device that is warm already.
  static void sustain(const Store& store, const StoredDevice& device, EstimateAnswer& a) {
    const auto state = stored_thermal(store, device.id);
    if (!state)
      throw Error(ErrorKind::kNotProfiled,
                  "nobody let this device get warm yet; run: ampere measure MODEL --sustained 10min");
    const double energy_j = a.estimate.energy_j.value, time_s = a.estimate.time_s.value;
    a.warm = a.job.iterations > 0 ? job_cost_of(*state, energy_j, time_s, a.job.iterations * time_s)
                                  : sustained_cost(*state, energy_j, time_s);
    a.estimate = sustained(a.estimate, *a.warm);
  }

  void print_batches() const {
    const AskedJob& first = jobs_.front();
    const EstimateAnswer& a = first.answer;
    ampere::print("{} on {}, {}{}, meter {}{}\n\n", first.model.network.name(),
                  a.device.fingerprint.value("name", "?"), o_.model.recipe.word(),
                  o_.training() == MeasureMode::kReplay ? ", replayed" : "",
                  a.device.fingerprint.value("meter", "?"),
                  a.estimate.modelled ? " (modelled, not measured, energy)" : "");
    const bool whole_jobs = a.job.iterations > 0;
    Table table{{"batch", "energy of an iteration (95% interval)", "time (95% interval)", "each sample",
                 "never measured", "memory"},
                {},
                {true, false, false, true, true, true},
                -1};
    if (whole_jobs) table.header.insert(table.header.end(), {"job", "job takes"});
    if (tariff_.price_per_kwh) table.header.push_back(whole_jobs ? "cost" : "cost of a million");
    if (tariff_.carbon_g_per_kwh) table.header.push_back(whole_jobs ? "emits" : "a million emit");
    for (const AskedJob& job : jobs_) {
      const Estimate& e = job.answer.estimate;
      const auto batch = static_cast<double>(job.arguments.model.batch);
      table.rows.push_back(
          {std::to_string(job.arguments.model.batch), interval_text(e.energy_j, joules_text),
           interval_text(e.time_s, seconds_text), joules_text(e.energy_j.value / batch),
           percent_text(e.unmeasured),
           bytes_text(job.answer.memory.needed.peak_bytes) + (job.answer.memory.fits ? "" : "!")});
      if (whole_jobs) {
        table.rows.back().push_back(interval_text(e.energy_j * job.answer.job.iterations, joules_text));
        table.rows.back().push_back(duration_text(e.time_s.value * job.answer.job.iterations));
      }
      const Bill bill = bill_of(tariff_, e.energy_j * (whole_jobs ? job.answer.job.iterations : 1e6));
      if (bill.cost) table.rows.back().push_back(money_text(bill.cost->value, tariff_.currency));
      if (bill.carbon_g) table.rows.back().push_back(carbon_text(bill.carbon_g->value));
    }
    ampere::print(table);
    for (const AskedJob& job : jobs_) {
      if (job.answer.memory.fits) continue;
      say("! " + refusal_text(job.answer.memory, job.model.network.name(), job.arguments.model.batch));
      break;
    }
    if (!tariff_.empty()) say("at " + tariff_text(tariff_));
    print_advice_on_batches();
    if (sheet_) say(sheet_note(*sheet_));
  }

  void print_advice_on_batches() const {
    std::vector<std::string> host_bound;
    std::vector<const Estimate*> all;
    std::set<std::int64_t> told;
    for (const AskedJob& job : jobs_) {
      const Estimate& e = job.answer.estimate;
      if (!told.insert(job.arguments.model.batch).second) continue;  // asked for twice
      all.push_back(&e);
      if (e.regime == Regime::kHost) host_bound.push_back(std::to_string(job.arguments.model.batch));
    }
    if (!host_bound.empty())
      say(
          fmt::format("host-bound at batch {}: the device waits for the host there. A larger batch, or steps "
                      "captured in a CUDA graph (--mode replay), would take less for each sample",
                      fmt::join(host_bound, ", ")));
    if (!sheet_) print_gain(all);
  }

  const EstimateArguments& o_;
  std::optional<DataSheet> sheet_;
  std::optional<Joules> battery_;
  Tariff tariff_;
  double risk_ = 0;
  std::vector<AskedJob> jobs_;
};

void run(EstimateArguments o) {
  if (o.batches.empty()) o.batches = {o.model.batch};
  o.model.batch = o.batches.front();
  Asked asked(o);
  for (const std::int64_t batch : o.batches) asked.load(batch);
  check(o.asked());
  if (o.probes() && !o.common.device.empty())
    throw bad_input(
        "--probe and --exact measure the device that the worker runs on; another one of the store can only "
        "be "
        "asked about: leave them away, or leave --device away");
  if (asked.sheet() && (o.probes() || !o.common.device.empty()))
    throw bad_input(
        "--sheet is about a device that nobody measured; leave --probe, --exact and --device away");
  if (o.epochs > 1 && o.samples == 0)
    throw bad_input("--epochs is about a whole job; say how many samples an epoch has: --samples N");
  const std::optional<Session> session = session_to_probe(o);
  if (session) {
    asked.judge_memories(session->fingerprint, stored_memory(*session->store, session->device_id));
    asked.probe(*session);
  }
  Store store = asked.sheet() ? store_of_sheet(*asked.sheet()) : Store::to_read(o.common.store);
  // Where nothing was measured yet, every kind is missing, and told as such.
  StoredDevice device;
  if (session) {
    device = choose_device(store, session->device_id);
  } else if (asked.sheet()) {
    device = store.devices().front();
  } else {
    device = device_asked_for(store, o.common.device);
  }
  if (!session) asked.judge_memories(device.fingerprint, stored_memory(store, device.id));
  asked.estimate(store, device);
  asked.print();
  if (!asked.fits()) throw CLI::RuntimeError(exit_code(ErrorKind::kOverBudget));
}

}  // namespace

void add_estimate(CLI::App& app) {
  auto o = std::make_shared<EstimateArguments>();
  CLI::App* verb =
      app.add_subcommand("estimate", "What training a network will cost: energy and time, with intervals");
  add_model_options(*verb, o->model, &o->batches);
  verb->add_option("--epochs", o->epochs, "Epochs of the job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  verb->add_option("--samples", o->samples, "Samples per epoch; gives figures per epoch and per job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  verb->add_option("--method", o->method, "split, paper or neuralpower");
  verb->add_flag("--probe", o->probe, "Measure the layers that matter first: up to a second each");
  verb->add_flag("--exact", o->exact, "The same of all layers: no profile needed");
  verb->add_option("--mode", o->mode, "How it will be trained: eager, or replay (steps captured in a graph)")
      ->check(CLI::IsMember({"eager", "replay"}));
  verb->add_option("--sheet", o->sheet, "Hardware that nobody measured: h100, or a file with its data sheet");
  verb->add_option("--battery", o->battery,
                   "15Wh, 40kJ, 5000mAh@3.85V: does the job fit? Exit code 4 if not");
  verb->add_flag("--sustained", o->sustained,
                 "Of a device that training has warmed up (measure --sustained)");
  verb->add_option("--memory", o->memory, "4GiB: the memory of the device; exit code 4 if it is too little");
  verb->add_option("--risk", o->risk, "How often it may fail to, with --battery: 0.01% to 50%");
  verb->add_option("--power-limit", o->power_limit, "Under a limit of so many watts, modelled: 300");
  verb->add_option("--clock", o->clock_mhz, "With the device locked to so many MHz, modelled")
      ->check(CLI::Range(1.0, 1e5));
  add_tariff_options(*verb, o->tariff);
  verb->add_flag("--all", o->all_layers, "Show all layers of deep networks");
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o, verb] {
    // Without this the device at hand would answer for the one that was meant.
    if (verb->count("--sheet") > 0 && o->sheet.empty())
      throw bad_input("--sheet is empty; name a device or a file with its data sheet");
    run(*o);
  });
}

}  // namespace ampere
