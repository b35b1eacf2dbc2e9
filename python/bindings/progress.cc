#include "progress.h"

namespace ampere::python {

OnStep on_step_of(const StepCallback& callback) {
  return [called = callback ? callback->ptr() : nullptr](const Step& step) {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (called != nullptr) nb::borrow<nb::callable>(called)(step);
  };
}

void bind_progress(nb::module_& m) {
  nb::class_<Step>(m, "Step", "How far long work is; what on_step is called with.")
      .def_ro("task", &Step::task, "\"profiling split\", \"training\"")
      .def_ro("done", &Step::done)
      .def_ro("of", &Step::of)
      .def_ro("seconds_left", &Step::seconds_left, "None: the pace so far tells")
      .def_ro("what", &Step::what, "what is being worked on")
      .def("__repr__", [](const Step& s) {
        return "Step(" + s.task + ": " + std::to_string(s.done) + " of " + std::to_string(s.of) +
               (s.what.empty() ? "" : ", " + s.what) + ")";
      });
}

}  // namespace ampere::python
