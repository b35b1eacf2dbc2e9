// One Python class for each kind of error, all of them ampere.Error.
#include "bindings.h"

namespace ampere::python {
namespace {

struct ErrorClass {
  ErrorKind kind;
  const char* name;
  const char* doc;
};
constexpr std::array<ErrorClass, 9> kClasses{{
    {ErrorKind::kFailed, "FailedError", "Anything without a class of its own."},
    {ErrorKind::kBadInput, "BadInputError",
     "Wrong usage, a malformed file, an impossible shape. Also a ValueError."},
    {ErrorKind::kNoMeter, "NoMeterError", "No energy meter can be used here."},
    {ErrorKind::kOverBudget, "OverBudgetError", "The job does not fit the energy it was given."},
    {ErrorKind::kUnstable, "UnstableError", "The measurement never settled."},
    {ErrorKind::kNotProfiled, "NotProfiledError",
     "Nobody has measured these kinds of layers on this device yet."},
    {ErrorKind::kWorker, "WorkerError", "The worker died, hung or answered nonsense."},
    {ErrorKind::kOutOfMemory, "OutOfMemoryError", "The network does not fit the device's memory."},
    {ErrorKind::kForwardFailed, "ForwardFailedError",
     "A TorchScript file's forward pass failed with these inputs."},
}};

// By kind. They live as long as the interpreter.
std::array<PyObject*, kClasses.size()> classes{};

PyObject* make_class(nb::module_& m, const char* name, const char* doc, const nb::object& bases,
                     nb::dict members) {
  const std::string full = std::string("ampere.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), members.ptr());
  if (made == nullptr) nb::raise_python_error();
  m.attr(name) = nb::handle(made);
  return made;
}

}  // namespace

void bind_errors(nb::module_& m) {
  nb::dict members;
  members["kind"] = "failed";
  members["exit_code"] = 1;
  PyObject* const base = make_class(
      m, "Error", "What the library raises. `kind` is one word, `exit_code` what a program should end with.",
      nb::make_tuple(nb::borrow(PyExc_Exception)), members);
  for (const ErrorClass& c : kClasses) {
    nb::dict own;
    own["kind"] = to_word(c.kind);
    own["exit_code"] = exit_code(c.kind);
    const nb::object bases = c.kind == ErrorKind::kBadInput
                                 ? nb::make_tuple(nb::borrow(base), nb::borrow(PyExc_ValueError))
                                 : nb::make_tuple(nb::borrow(base));
    classes[static_cast<std::size_t>(c.kind)] = make_class(m, c.name, c.doc, bases, own);
  }
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& e) {
      // Ctrl-C reaches the worker too; what its user did is then why it died.
      if (PyErr_CheckSignals() != 0) return;
      PyErr_SetString(classes[static_cast<std::size_t>(e.kind())], e.what());
    }
  });
}

}  // namespace ampere::python
