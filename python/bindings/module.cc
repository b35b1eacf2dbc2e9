#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace ampere::python;
  m.doc() = "AMPERE's C++ library. Names, defaults and meaning are those of its headers.";
  m.def(
      "version", [] { return std::string(ampere::version()); }, "Of the library in this package.");
  bind_errors(m);
  bind_recipe(m);
  bind_model(m);
  bind_progress(m);
  bind_device(m);
  bind_profile(m);
  bind_estimate(m);
  bind_memory(m);
  bind_tariff(m);
  bind_tune(m);
  bind_prune(m);
  bind_schedule(m);
  bind_plan(m);
  bind_report(m);
  bind_meter(m);
}
