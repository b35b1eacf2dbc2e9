#include "ampere/profile.h"

#include "device.h"
#include "progress.h"

namespace ampere::python {
namespace {

ProfilingSummary run(SharedDevice& device, const Model& model, std::int64_t batch,
                     const std::optional<Recipe>& recipe, std::vector<std::string> methods, double target,
                     bool exact, int points_1d, int points_2d, int energy_points_1d, int energy_points_2d,
                     double target_deviation, std::string guide, int whole_networks, double budget_s,
                     double target_error, const StepCallback& on_step) {
  const ProfilingOptions options{.points_1d = points_1d,
                                 .points_2d = points_2d,
                                 .energy_points_1d = energy_points_1d,
                                 .energy_points_2d = energy_points_2d,
                                 .target_deviation = target_deviation,
                                 .guide = std::move(guide),
                                 .whole_networks = whole_networks,
                                 .budget_s = budget_s,
                                 .target_error = target_error,
                                 .methods = std::move(methods),
                                 .target = target,
                                 .exact = exact};
  const TrainingSetup setup = setup_of(batch, recipe);
  const OnStep steps = on_step_of(on_step);
  return device.use([&](Device& d) { return profile(d, model, setup, options, steps); });
}

void bind_summaries(nb::module_& m) {
  nb::class_<SurfaceSummary>(m, "SurfaceSummary", "What was measured of one kind of layer.")
      .def_ro("key", &SurfaceSummary::key, "names the kind of layer")
      .def_ro("measured", &SurfaceSummary::measured, "points, in this run")
      .def_ro("reused", &SurfaceSummary::reused, "found in the store")
      .def_ro("refused", &SurfaceSummary::refused, "did not fit the device's memory, or killed the worker")
      .def_prop_ro(
          "why", [](const SurfaceSummary& s) { return to_word(s.why); },
          "why it needs no further points: \"point limit\", \"certain\", \"nothing left\"")
      .def_ro("deviation", &SurfaceSummary::deviation, "largest standard deviation over mean that is left");
  nb::class_<ProfileSummary>(m, "ProfileSummary")
      .def_ro("surfaces", &ProfileSummary::surfaces)
      .def_ro("measured", &ProfileSummary::measured)
      .def_ro("reused", &ProfileSummary::reused)
      .def_ro("unstable", &ProfileSummary::unstable, "points that never met the target error")
      .def_ro("seconds", &ProfileSummary::seconds, "all in all")
      .def_ro("fitting_seconds", &ProfileSummary::fitting_seconds);
  nb::class_<MethodProfile>(m, "MethodProfile")
      .def_ro("method", &MethodProfile::method)
      .def_ro("summary", &MethodProfile::summary)
      .def_ro("all_seconds", &MethodProfile::all_seconds, "with earlier runs, as the store remembers them")
      .def_ro("all_fitting_seconds", &MethodProfile::all_fitting_seconds)
      .def_ro("all_points", &MethodProfile::all_points);
  nb::class_<Refinement>(m, "Refinement", "How near profiling came to its target.")
      .def_ro("half_width", &Refinement::half_width, "of the 95% interval of the energy, over the energy")
      .def_ro("reached", &Refinement::reached)
      .def_ro("measured", &Refinement::measured, "layers, in this run")
      .def_ro("seconds", &Refinement::seconds);
  nb::class_<ProbeSummary>(m, "ProbeSummary", "Layers measured at a network's own channels.")
      .def_ro("layers", &ProbeSummary::layers, "distinct layers of the network")
      .def_ro("measured", &ProbeSummary::measured, "of them, now")
      .def_ro("known", &ProbeSummary::known, "of them, measured before at these very channels")
      .def_ro("seconds", &ProbeSummary::seconds);
  nb::class_<ProfilingSummary>(m, "ProfilingSummary", "What a profiling run did and why it ended.")
      .def_ro("methods", &ProfilingSummary::methods, "empty with `exact`")
      .def_ro("refinement", &ProfilingSummary::refinement, "with `target`")
      .def_ro("exact", &ProfilingSummary::exact, "with `exact`");
}

}  // namespace

void bind_profile(nb::module_& m) {
  bind_summaries(m);
  const ProfilingOptions defaults;
  m.def("profile", &run, "device"_a, "model"_a, "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(),
        "methods"_a = defaults.methods, "target"_a = defaults.target, "exact"_a = defaults.exact,
        "points_1d"_a = defaults.points_1d, "points_2d"_a = defaults.points_2d,
        "energy_points_1d"_a = defaults.energy_points_1d, "energy_points_2d"_a = defaults.energy_points_2d,
        "target_deviation"_a = defaults.target_deviation, "guide"_a = defaults.guide,
        "whole_networks"_a = defaults.whole_networks, "budget_s"_a = defaults.budget_s,
        "target_error"_a = defaults.target_error, "on_step"_a = nb::none(),
        "Measures what is not in the store yet, point by point; each is kept at once, so a run that was "
        "stopped goes on "
        "where it was. `target` 0.05: until the energy of this network is known to 5%. `exact`: only its own "
        "layers, "
        "once each. 0 of the others: what suits the device.");
  nb::class_<RelativeSummary>(m, "RelativeSummary", "What was taken from a relative of a device.")
      .def_ro("device", &RelativeSummary::device, "as it is called in the store from now on")
      .def_ro("sister", &RelativeSummary::sister, "another card of the name, under the same software")
      .def_ro("points", &RelativeSummary::points, "that count for the device, too");
  m.def(
      "learn_from",
      [](SharedDevice& device, const std::string& from) {
        return device.use([&](Device& d) { return learn_from(d, from); });
      },
      "device"_a, "source"_a,
      "Lets what was measured on a relative of the device count for it: another card of the name, or the "
      "same hardware under other software. `source`: the path of a store, or the id of a device in this "
      "one.");
  m.def(
      "time_calls",
      [](SharedDevice& device, const Model& step, const Model& kinds,
         const std::vector<std::pair<int, std::vector<int>>>& calls, std::int64_t batch,
         const std::optional<Recipe>& recipe) {
        std::vector<StepCall> all;
        for (const auto& [kind, numbers] : calls) all.push_back({kind, numbers});
        const TrainingSetup setup = setup_of(batch, recipe);
        return device.use([&](Device& d) { return time_calls(d, step, kinds, all, setup); });
      },
      "device"_a, "step"_a, "kinds"_a, "calls"_a, "batch"_a, "recipe"_a,
      "Runs a whole captured step and keeps what its calls take within it. `calls`: for each that is meant "
      "its kind, a place in `kinds`, and its numbers among the step's calls. How many kinds are known by "
      "it.");
  m.def(
      "parts_to_measure",
      [](SharedDevice& device, const Model& candidates, std::int64_t batch,
         const std::optional<Recipe>& recipe,
         const std::vector<std::vector<std::pair<int, double>>>& population, int most) {
        std::vector<PartCounts> networks;
        for (const auto& network : population) {
          PartCounts counts;
          for (const auto& [part, count] : network) counts.push_back({part, count});
          networks.push_back(std::move(counts));
        }
        const TrainingSetup setup = setup_of(batch, recipe);
        return device.use([&](Device& d) { return parts_to_measure(d, candidates, setup, networks, most); });
      },
      "device"_a, "candidates"_a, "batch"_a, "recipe"_a, "population"_a, "most"_a,
      "An order of captured parts that are not measured yet: those first that make networks like those of "
      "the "
      "population known soonest. Networks are lists of parts, by their places, and how often each has them.");
}

}  // namespace ampere::python
