#include "ampere/prune.h"

#include "device.h"
#include "progress.h"

namespace ampere::python {
namespace {

// All that the three ways to prune have in common, as Python gives it.
PruneOptions options_of(const Budget& budget, double job_iterations, std::optional<double> risk,
                        const std::string& rank, ChannelScores scores, std::int64_t multiple_of,
                        std::int64_t min_channels, double min_share, std::vector<std::string> keep,
                        const std::string& mode, const std::string& search, std::int64_t candidates,
                        std::uint64_t seed) {
  PruneOptions options;
  options.budget = budget;
  options.job_iterations = job_iterations;
  options.risk = risk;
  options.rank = from_word<Rank, 3>(
      "rank", rank, {{{"parameters", Rank::kParameters}, {"flops", Rank::kFlops}, {"score", Rank::kScore}}});
  options.scores = std::move(scores);
  options.multiple_of = multiple_of;
  options.min_channels = min_channels;
  options.min_share = min_share;
  options.keep = std::move(keep);
  options.mode = mode_from(mode);
  options.search.kind = from_word<SearchKind, 2>(
      "search", search, {{{"random", SearchKind::kRandom}, {"evolve", SearchKind::kEvolve}}});
  options.search.candidates = candidates;
  options.search.seed = seed;
  return options;
}

// After each check Python hears of it, and signals are looked at.
using CheckCallback = std::optional<nb::typed<nb::callable, nb::object(int, double, MeasuredShare)>>;

PruneCheckOptions checks_of(int most_checks, const CheckCallback& on_check) {
  PruneCheckOptions check;
  check.most_checks = most_checks;
  check.on_check = [called = on_check ? on_check->ptr() : nullptr](int number, double estimated,
                                                                   const MeasuredShare& measured) {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (called != nullptr) nb::borrow<nb::callable>(called)(number, estimated, measured);
  };
  return check;
}

Pruned run(SharedDevice& device, const Model& model, const std::string& budget, std::int64_t batch,
           const std::optional<Recipe>& recipe, double job_iterations, std::optional<double> risk,
           const std::string& rank, ChannelScores scores, std::int64_t multiple_of, std::int64_t min_channels,
           double min_share, std::vector<std::string> keep, const std::string& mode,
           const std::string& search, std::int64_t candidates, std::uint64_t seed, int checks,
           const CheckCallback& on_check) {
  const PruneOptions options =
      options_of(parse_budget(budget), job_iterations, risk, rank, std::move(scores), multiple_of,
                 min_channels, min_share, std::move(keep), mode, search, candidates, seed);
  const TrainingSetup setup = setup_of(batch, recipe);
  const PruneCheckOptions check = checks_of(checks, on_check);
  return device.use([&](Device& d) {
    return checks > 0 ? prune(d, model, setup, options, check) : prune(d, model, setup, options);
  });
}

Pruned run_by_flops(const Model& model, const std::string& budget, std::int64_t batch,
                    const std::string& rank, ChannelScores scores, std::int64_t multiple_of,
                    std::int64_t min_channels, double min_share, std::vector<std::string> keep,
                    const std::string& search, std::int64_t candidates, std::uint64_t seed) {
  const PruneOptions options =
      options_of(parse_budget(budget), 0, std::nullopt, rank, std::move(scores), multiple_of, min_channels,
                 min_share, std::move(keep), "eager", search, candidates, seed);
  return unlocked([&] { return prune_by_flops(model, batch, options); });
}

void bind_results(nb::module_& m) {
  nb::class_<MeasuredShare>(m, "MeasuredShare",
                            "Energy of the pruned network over that of the original, as trained.")
      .def_ro("share", &MeasuredShare::share)
      .def_ro("error", &MeasuredShare::error, "its standard error");
  nb::class_<PrunedGroup>(m, "PrunedGroup", "Channels that are pruned together.")
      .def_ro("name", &PrunedGroup::name, "the first node that puts them out")
      .def_ro("nodes", &PrunedGroup::nodes, "all whose width they are")
      .def_ro("channels_before", &PrunedGroup::channels_before)
      .def_ro("channels", &PrunedGroup::channels)
      .def_ro("kept", &PrunedGroup::kept, "which of them, where scores tell")
      .def_ro("untouched", &PrunedGroup::untouched, "why it was not open; else empty");
  nb::class_<Pruned>(m, "Pruned", "A network with fewer channels that keeps to a budget.")
      .def_ro("model", &Pruned::model)
      .def_ro("groups", &Pruned::groups)
      .def_ro("before", &Pruned::before, "None for prune_by_flops()")
      .def_ro("after", &Pruned::after, "None for prune_by_flops()")
      .def_ro("flops_before", &Pruned::flops_before)
      .def_ro("flops_after", &Pruned::flops_after)
      .def_ro("parameters_before", &Pruned::parameters_before)
      .def_ro("parameters_after", &Pruned::parameters_after)
      .def_ro("budget", &Pruned::budget, "joules per iteration, or FLOPs")
      .def_ro("bound", &Pruned::bound,
              "what was held against it: the mean, or the quantile that risk asks for")
      .def_ro("unchanged", &Pruned::unchanged, "the network fits as it is")
      .def_ro("candidates", &Pruned::candidates)
      .def_ro("within", &Pruned::within, "of them, kept to the budget")
      .def_ro("measured", &Pruned::measured, "of the last check")
      .def_ro("checks", &Pruned::checks)
      .def_ro("seconds", &Pruned::seconds, "of the search");
}

}  // namespace

void bind_prune(nb::module_& m) {
  bind_results(m);
  m.def(
      "read_scores", [](const Path& path) { return read_scores(path.string()); }, "path"_a,
      "How much channels matter, from a file: {\"layers\": {\"conv1\": 2.5, \"conv2\": [0.1, 0.7]}}.");
  const PruneOptions defaults;
  const std::vector<std::string> none;
  m.def("prune", &run, "device"_a, "model"_a, "budget"_a = "50%", "batch"_a = 1, "recipe"_a = nb::none(),
        nb::kw_only(), "job_iterations"_a = 0.0, "risk"_a = nb::none(), "rank"_a = "parameters",
        "scores"_a = ChannelScores(), "multiple_of"_a = defaults.multiple_of,
        "min_channels"_a = defaults.min_channels, "min_share"_a = defaults.min_share, "keep"_a = none,
        "mode"_a = "eager", "search"_a = "evolve", "candidates"_a = defaults.search.candidates,
        "seed"_a = defaults.search.seed, "checks"_a = 0, "on_check"_a = nb::none(),
        "Fewer channels, so that training keeps to a budget: \"50%\", \"40J/iter\", \"2kWh/job\" (then with "
        "`job_iterations`). With `checks` above 0 the choice is trained beside the original, at most so many "
        "times, and "
        "on_check(number, estimated share, measured) is called after each. Raises OverBudgetError when "
        "nothing fits.");
  m.def("prune_by_flops", &run_by_flops, "model"_a, "budget"_a = "50%", "batch"_a = 1, nb::kw_only(),
        "rank"_a = "parameters", "scores"_a = ChannelScores(), "multiple_of"_a = defaults.multiple_of,
        "min_channels"_a = defaults.min_channels, "min_share"_a = defaults.min_share, "keep"_a = none,
        "search"_a = "evolve", "candidates"_a = defaults.search.candidates, "seed"_a = defaults.search.seed,
        "The proxy that most people use: the budget is a share of FLOPs. Needs no device.");
}

}  // namespace ampere::python
