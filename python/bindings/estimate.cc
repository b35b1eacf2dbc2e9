#include "ampere/estimate.h"

#include <cstdio>

#include "device.h"
#include "progress.h"

namespace ampere::python {
namespace {

std::string text(const Interval& i) {
  char buffer[120];
  std::snprintf(buffer, sizeof buffer, "Interval(%.6g, low=%.6g, high=%.6g)", i.value, i.low, i.high);
  return buffer;
}

Estimate run(SharedDevice& device, const Model& model, std::int64_t batch,
             const std::optional<Recipe>& recipe, std::string method, const std::string& mode, bool probe,
             bool exact, double power_limit_w, double clock_mhz, const StepCallback& on_step) {
  const EstimateOptions options{std::move(method), mode_from(mode), probe, exact, power_limit_w, clock_mhz};
  const TrainingSetup setup = setup_of(batch, recipe);
  const OnStep steps = on_step_of(on_step);
  return device.use([&](Device& d) { return estimate(d, model, setup, options, steps); });
}

void bind_results(nb::module_& m) {
  nb::class_<Interval>(
      m, "Interval",
      "An expected value and the bounds that hold it with 95% probability. Times a number of "
      "iterations it is that of all of them together.")
      .def(nb::init<double, double, double>(), "value"_a, "low"_a, "high"_a)
      .def_ro("value", &Interval::value)
      .def_ro("low", &Interval::low)
      .def_ro("high", &Interval::high)
      .def(
          "__mul__", [](const Interval& i, double factor) { return i * factor; }, nb::is_operator())
      .def(
          "__rmul__", [](const Interval& i, double factor) { return i * factor; }, nb::is_operator())
      .def("__float__", [](const Interval& i) { return i.value; })
      .def(
          "__eq__",
          [](const Interval& a, const Interval& b) {
            return a.value == b.value && a.low == b.low && a.high == b.high;
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Interval& i) { return nb::hash(nb::make_tuple(i.value, i.low, i.high)); })
      .def("__repr__", &text);

  nb::class_<LayerEstimate>(m, "LayerEstimate")
      .def_ro("name", &LayerEstimate::name)
      .def_prop_ro(
          "role", [](const LayerEstimate& l) { return to_word(l.role); },
          "\"input\", \"hidden\", \"output\", \"only\"")
      .def_ro("kind", &LayerEstimate::kind)
      .def_ro("channels", &LayerEstimate::channels)
      .def_ro("energy_j", &LayerEstimate::energy_j, "per iteration")
      .def_ro("time_s", &LayerEstimate::time_s, "per iteration")
      .def_ro("extrapolated", &LayerEstimate::extrapolated, "outside the channels that were profiled")
      .def_ro("measured", &LayerEstimate::measured, "false: told by what else was measured on the device")
      .def("__repr__",
           [](const LayerEstimate& l) { return "LayerEstimate(" + l.name + ": " + text(l.energy_j) + ")"; });

  nb::class_<Estimate>(m, "Estimate", "What training will cost, with how sure that is.")
      .def_ro("method", &Estimate::method)
      .def_ro("energy_j", &Estimate::energy_j, "per iteration")
      .def_ro("time_s", &Estimate::time_s, "per iteration")
      .def_ro("fixed_energy_j", &Estimate::fixed_energy_j,
              "of an iteration without any layer, part of energy_j")
      .def_ro("fixed_time_s", &Estimate::fixed_time_s)
      .def_ro("device_energy_j", &Estimate::device_energy_j, "on two clocks: what the device itself does")
      .def_ro("device_time_s", &Estimate::device_time_s)
      .def_ro("host_time_s", &Estimate::host_time_s, "what the host takes to issue it")
      .def_ro("idle_power_w", &Estimate::idle_power_w, "what is drawn while waiting")
      .def_prop_ro(
          "regime", [](const Estimate& e) { return to_word(e.regime); },
          "\"cpu\", \"device-bound\", \"host-bound\"")
      .def_ro("unmeasured", &Estimate::unmeasured,
              "share of the energy of layers whose kind was never measured here")
      .def_ro("modelled", &Estimate::modelled,
              "energies come from a model (CPU time times watts), not from a counter")
      .def_ro("composition_factor", &Estimate::composition_factor,
              "on energies, learned from whole networks; layers carry it already")
      .def_ro("composition_networks", &Estimate::composition_networks, "how many it was learned from")
      .def_ro("power_limit_w", &Estimate::power_limit_w, "that it is told for; 0: as the device comes")
      .def_ro("clock_mhz", &Estimate::clock_mhz, "that it is told for; 0: as the device comes")
      .def_ro("layers", &Estimate::layers)
      .def_ro("probed", &Estimate::probed, "what was measured for it, if that was asked for")
      .def("__repr__", [](const Estimate& e) {
        return "Estimate(" + e.method + ", energy_j=" + text(e.energy_j) + ", time_s=" + text(e.time_s) +
               (e.modelled ? ", modelled)" : ")");
      });
}

}  // namespace

void bind_estimate(nb::module_& m) {
  bind_results(m);
  m.def("iterations_of", &iterations_of, "samples"_a, "batch"_a, "epochs"_a,
        "Iterations of a job: whole batches, the last of an epoch may be smaller.");
  m.def("estimate", &run, "device"_a, "model"_a, "batch"_a = 1, "recipe"_a = nb::none(), nb::kw_only(),
        "method"_a = "split", "mode"_a = "eager", "probe"_a = false, "exact"_a = false,
        "power_limit_w"_a = 0.0, "clock_mhz"_a = 0.0, "on_step"_a = nb::none(),
        "Energy and time of an iteration. Without `probe` it needs no worker and measures nothing. Raises "
        "NotProfiledError that lists every kind of layer that is missing.");
}

}  // namespace ampere::python
