#include "ampere/tariff.h"

#include "bindings.h"

namespace ampere::python {

void bind_tariff(nb::module_& m) {
  nb::class_<Tariff>(m, "Tariff", "What energy costs: money and greenhouse gases per kWh.")
      .def(nb::init<>())
      .def_ro("price_per_kwh", &Tariff::price_per_kwh, "None: not asked")
      .def_ro("currency", &Tariff::currency, "as it was written; may be empty")
      .def_ro("carbon_g_per_kwh", &Tariff::carbon_g_per_kwh, "grams of CO2 equivalent; None: not asked")
      .def_ro("carbon_source", &Tariff::carbon_source, "\"given\", or the country and the year of the table");
  nb::class_<Bill>(m, "Bill", "What an energy costs.")
      .def_ro("energy_kwh", &Bill::energy_kwh)
      .def_ro("cost", &Bill::cost, "in the tariff's currency")
      .def_ro("carbon_g", &Bill::carbon_g, "grams of CO2 equivalent");
  m.def(
      "tariff_of", &tariff_of, "price"_a = "", "carbon"_a = "",
      "`price`: \"0.30/kWh\", \"0.30EUR/kWh\", \"$120/MWh\". `carbon`: \"380g/kWh\", or the two letters of a "
      "country (\"FR\"). Empty: not asked.");
  m.def("bill_of", &bill_of, "tariff"_a, "energy_j"_a,
        "What an energy costs; the tariff counts as known, so the intervals are as wide as the energy's.");
}

}  // namespace ampere::python
