#include "ampere/tune.h"

#include "device.h"

namespace ampere::python {
namespace {

// What a job is and what is to be little, as Python gives it.
TuneOptions options_of(std::int64_t samples, std::int64_t epochs, const std::string& objective,
                       std::optional<double> slower, std::optional<double> deadline_s,
                       const std::optional<Tariff>& tariff, double price_per_hour, const std::string& mode,
                       std::vector<double> power_limits_w, std::vector<double> clocks_mhz) {
  TuneOptions options;
  options.samples = samples;
  options.epochs = epochs;
  options.objective = from_word<Objective, 4>("objective", objective,
                                              {{{"energy", Objective::kEnergy},
                                                {"time", Objective::kTime},
                                                {"energy*delay", Objective::kEnergyDelay},
                                                {"cost", Objective::kCost}}});
  options.most_slower = slower;
  options.deadline_s = deadline_s;
  options.tariff = tariff.value_or(Tariff{});
  options.price_per_hour = price_per_hour;
  options.mode = mode_from(mode);
  options.power_limits_w = std::move(power_limits_w);
  options.clocks_mhz = std::move(clocks_mhz);
  return options;
}

Tuned run(SharedDevice& device, const Model& model, std::int64_t batch, const std::optional<Recipe>& recipe,
          std::int64_t samples, std::int64_t epochs, const std::string& objective,
          std::optional<double> slower, std::optional<double> deadline_s, const std::optional<Tariff>& tariff,
          double price_per_hour, const std::string& mode, std::vector<double> power_limits_w,
          std::vector<double> clocks_mhz, std::vector<std::int64_t> batches,
          std::vector<std::string> precisions, std::vector<std::string> optimizers,
          std::vector<bool> autotune, std::vector<int> threads) {
  TuneOptions options = options_of(samples, epochs, objective, slower, deadline_s, tariff, price_per_hour,
                                   mode, std::move(power_limits_w), std::move(clocks_mhz));
  options.batches = std::move(batches);
  options.precisions = std::move(precisions);
  options.optimizers = std::move(optimizers);
  options.autotune = std::move(autotune);
  options.threads = std::move(threads);
  const TrainingSetup present = setup_of(batch, recipe);
  return device.use([&](Device& d) { return tune(d, model, present, options); });
}

Tuned run_candidates(SharedDevice& device, const std::vector<TuneCandidate>& candidates, std::int64_t samples,
                     std::int64_t epochs, const std::string& objective, std::optional<double> slower,
                     std::optional<double> deadline_s, const std::optional<Tariff>& tariff,
                     double price_per_hour, const std::string& mode, std::vector<double> power_limits_w,
                     std::vector<double> clocks_mhz) {
  const TuneOptions options =
      options_of(samples, epochs, objective, slower, deadline_s, tariff, price_per_hour, mode,
                 std::move(power_limits_w), std::move(clocks_mhz));
  return device.use([&](Device& d) { return tune(d, candidates, options); });
}

void bind_settings(nb::module_& m) {
  nb::class_<TrainingSetting>(m, "TrainingSetting", "One way to train a network, all else alike.")
      .def(
          "__init__",
          [](TrainingSetting* self, std::int64_t batch, const std::optional<Recipe>& recipe,
             bool channels_last, double power_limit_w, double clock_mhz) {
            new (self)
                TrainingSetting{batch, recipe.value_or(Recipe{}), channels_last, power_limit_w, clock_mhz};
          },
          "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(), "channels_last"_a = false,
          "power_limit_w"_a = 0.0, "clock_mhz"_a = 0.0)
      .def_ro("batch", &TrainingSetting::batch)
      .def_ro("recipe", &TrainingSetting::recipe)
      .def_ro("channels_last", &TrainingSetting::channels_last)
      .def_ro("power_limit_w", &TrainingSetting::power_limit_w, "0: as the device comes")
      .def_ro("clock_mhz", &TrainingSetting::clock_mhz, "0: as the device comes");
  nb::class_<TuneCandidate>(m, "TuneCandidate",
                            "One way to train on the device as it comes, and what an iteration takes so.")
      .def(
          "__init__",
          [](TuneCandidate* self, TrainingSetting setting, std::optional<Estimate> estimate,
             std::string why) {
            new (self) TuneCandidate{std::move(setting), std::move(estimate), std::move(why)};
          },
          "setting"_a, "estimate"_a = nb::none(), "why"_a = "")
      .def_ro("setting", &TuneCandidate::setting)
      .def_ro("estimate", &TuneCandidate::estimate, "None: nothing tells it")
      .def_ro("why", &TuneCandidate::why, "nothing does");
}

void bind_tuned(nb::module_& m) {
  nb::class_<TuneOutcome>(m, "TuneOutcome", "The whole job under one setting.")
      .def_ro("setting", &TuneOutcome::setting)
      .def_ro("energy_j", &TuneOutcome::energy_j)
      .def_ro("time_s", &TuneOutcome::time_s)
      .def_ro("cost", &TuneOutcome::cost, "of energy and hours, where there are prices")
      .def_ro("objective", &TuneOutcome::objective, "what is made small")
      .def_ro("on_front", &TuneOutcome::on_front, "no other setting needs both less energy and less time")
      .def_ro("allowed", &TuneOutcome::allowed, "keeps what was asked for");
  nb::class_<TuneStep>(m, "TuneStep", "What one change is worth, against the outcome before it.")
      .def_ro("change", &TuneStep::change, "\"bf16 instead of default\", \"300 W\"")
      .def_ro("energy", &TuneStep::energy, "share saved; negative: it takes more")
      .def_ro("time", &TuneStep::time, "share saved");
  nb::class_<TuneAdvice>(m, "TuneAdvice", "What else the estimates say.")
      .def_ro("what", &TuneAdvice::what)
      .def_ro("evidence", &TuneAdvice::evidence, "the figures that it rests on");
  nb::class_<Tuned>(m, "Tuned", "The settings of a job, and the one that serves best.")
      .def_ro("outcomes", &Tuned::outcomes, "every combination that could be told")
      .def_ro("candidates", &Tuned::candidates, "what they were told from")
      .def_ro("present", &Tuned::present, "index into outcomes")
      .def_ro("best", &Tuned::best, "index into outcomes")
      .def_ro("front", &Tuned::front, "indices, the quickest first")
      .def_ro("saved_energy", &Tuned::saved_energy, "share of the present setting's that the best one saves")
      .def_ro("saved_time", &Tuned::saved_time)
      .def_ro("steps", &Tuned::steps, "from the present to the best, one change after the other")
      .def_ro("singles", &Tuned::singles, "each of those changes by itself")
      .def_ro("advice", &Tuned::advice, "about the best one")
      .def_ro("left_out", &Tuned::left_out, "settings that nothing tells, with why")
      .def_ro("modelled", &Tuned::modelled,
              "energies come from a model (CPU time times watts), not from a counter");
}

}  // namespace

void bind_tune(nb::module_& m) {
  bind_settings(m);
  bind_tuned(m);
  const std::vector<double> none;
  m.def(
      "usual_limits",
      [](SharedDevice& device) { return device.use([](Device& d) { return usual_limits(d); }); }, "device"_a,
      "The power limits worth looking at: in steps of 50 W, as far as the device's levers are known.");
  m.def("tune", &run, "device"_a, "model"_a, "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(),
        "samples"_a, "epochs"_a = 1, "objective"_a = "energy", "slower"_a = nb::none(),
        "deadline_s"_a = nb::none(), "tariff"_a = nb::none(), "price_per_hour"_a = 0.0, "mode"_a = "eager",
        "power_limits_w"_a = none, "clocks_mhz"_a = none, "batches"_a = std::vector<std::int64_t>(),
        "precisions"_a = std::vector<std::string>(), "optimizers"_a = std::vector<std::string>(),
        "autotune"_a = std::vector<bool>(), "threads"_a = std::vector<int>(),
        "Which settings to train a network with; the present one is always among them. Raises "
        "NotProfiledError where that cannot be told, OverBudgetError where no setting keeps what was asked "
        "for.");
  m.def("tune_candidates", &run_candidates, "device"_a, "candidates"_a, nb::kw_only(), "samples"_a,
        "epochs"_a = 1, "objective"_a = "energy", "slower"_a = nb::none(), "deadline_s"_a = nb::none(),
        "tariff"_a = nb::none(), "price_per_hour"_a = 0.0, "mode"_a = "eager", "power_limits_w"_a = none,
        "clocks_mhz"_a = none,
        "The same among candidates that were estimated already, each under every limit and clock. The first "
        "is the present setting.");
}

}  // namespace ampere::python
