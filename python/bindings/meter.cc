#include "ampere/meter.h"

#include "bindings.h"

namespace ampere::python {
namespace {

void bind_values(nb::module_& m) {
  nb::class_<MeterDescription>(m, "MeterDescription", "What is known of a meter before it is used.")
      .def_ro("name", &MeterDescription::name, "what Meter() takes")
      .def_ro("scope", &MeterDescription::scope,
              "\"gpu\", \"package\", \"module\", \"board\", \"battery\", \"process\"")
      .def_ro("modelled", &MeterDescription::modelled, "computed from a model, not read from hardware")
      .def_ro("description", &MeterDescription::description)
      .def_ro("available", &MeterDescription::available, "can be used here")
      .def_ro("why", &MeterDescription::why, "it cannot: what is missing, and the fix")
      .def_ro("samples_s", &MeterDescription::samples_s,
              "how far apart the samples of recent_power() are; 0: it keeps none")
      .def("__repr__", [](const MeterDescription& d) {
        return "MeterDescription(" + d.name + (d.modelled ? ", modelled" : "") +
               (d.available ? ", available)" : ", not available)");
      });
  nb::class_<EnergyReading>(m, "Reading", "Two readings tell what was used between them.")
      .def(nb::init<double, double>(), "energy_j"_a, "at_s"_a)
      .def_ro("energy_j", &EnergyReading::energy_j, "since some arbitrary moment")
      .def_ro("at_s", &EnergyReading::at_s, "on the clock of time.monotonic()")
      .def("__repr__", [](const EnergyReading& r) {
        return "Reading(energy_j=" + std::to_string(r.energy_j) + ", at_s=" + std::to_string(r.at_s) + ")";
      });
  nb::class_<MeterBehaviour>(m, "MeterBehaviour", "How a meter behaves.")
      .def_ro("moves", &MeterBehaviour::moves, "the counter changed while it was watched")
      .def_ro("continuous", &MeterBehaviour::continuous, "it changed at nearly every reading")
      .def_ro("tick_s", &MeterBehaviour::tick_s, "time between two changes; 0: none was seen")
      .def_ro("read_s", &MeterBehaviour::read_s, "what one reading takes")
      .def_ro("resolution_j", &MeterBehaviour::resolution_j, "smallest change seen");
}

}  // namespace

void bind_meter(nb::module_& m) {
  bind_values(m);
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<EnergyMeter>(m, "Meter", "An energy meter of this machine. Threads take turns.")
      .def(
          "__init__",
          [](EnergyMeter* self, const std::string& name) {
            new (self) EnergyMeter(unlocked([&] { return EnergyMeter::open(name); }));
          },
          "name"_a = "",
          "By its name (\"nvml:0,1\", \"nvml+rapl\", \"exec:COMMAND\"); empty: $AMPERE_METER, else the first "
          "that is "
          "available. Raises BadInputError for a name nobody knows, NoMeterError where it cannot be used.")
      .def_prop_ro("description", &EnergyMeter::description)
      .def_prop_ro("name", [](const EnergyMeter& meter) { return meter.description().name; })
      .def_prop_ro("scope", [](const EnergyMeter& meter) { return meter.description().scope; })
      .def_prop_ro("modelled", [](const EnergyMeter& meter) { return meter.description().modelled; })
      .def("read", &EnergyMeter::read, Unlocked())
      .def("read_at_tick", &EnergyMeter::read_at_tick, Unlocked(),
           "The next moment at which the counter changes, and its value there; without a tick, read() at "
           "once.")
      .def("watch", &EnergyMeter::watch, "limit_s"_a = 1.0, Unlocked(),
           "Reads again and again to find the tick; `behaviour` has it then.")
      .def_prop_ro(
          "behaviour", [](const EnergyMeter& meter) { return unlocked([&] { return meter.behaviour(); }); },
          "None before watch()")
      .def("mean_power_w", &EnergyMeter::mean_power_w, "length_s"_a = 1.0, Unlocked(),
           "The mean power while this thread sleeps: idle power, if all others do nothing.")
      .def("power_w", &EnergyMeter::power_w, Unlocked(),
           "By a second sensor, about now; None: there is none.")
      .def(
          "recent_power",
          [](EnergyMeter& meter) {
            std::vector<std::pair<double, double>> found;
            for (const PowerReading& reading : unlocked([&] { return meter.recent_power(); }))
              found.emplace_back(reading.at_s, reading.power_w);
            return found;
          },
          "The power of the last seconds as the device has kept it, oldest first: (time.monotonic(), watts). "
          "Empty: it keeps none.")
      .def("__repr__", [](const EnergyMeter& meter) {
        return "Meter(" + meter.description().name + (meter.description().modelled ? ", modelled)" : ")");
      });
  m.def("meters", &meters, Unlocked(),
        "All meters that there are, the most trusted first, with why some are not here.");
}

}  // namespace ampere::python
