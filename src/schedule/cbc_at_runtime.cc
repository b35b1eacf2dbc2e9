#include <dlfcn.h>

#include "base/error.h"
#include "schedule/cbc.h"

namespace ampere {
namespace {

constexpr const char* kCbcLibrary = "libCbcSolver.so.3";

[[noreturn]] void no_cbc() {
  const char* why = dlerror();
  throw Error(ErrorKind::kFailed, std::string("CBC, which finds the best schedule, cannot be loaded (") +
                                      (why ? why : kCbcLibrary) +
                                      "); install coinor-libcbc3, or use --solver heuristic");
}

template <class Function>
void find_in_cbc(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) no_cbc();
}

Cbc load_cbc() {
  void* library = dlopen(kCbcLibrary, RTLD_LAZY | RTLD_LOCAL);  // stays until the program ends
  if (!library) no_cbc();
  Cbc c{};
  find_in_cbc(library, "Cbc_newModel", c.new_model);
  find_in_cbc(library, "Cbc_deleteModel", c.delete_model);
  find_in_cbc(library, "Cbc_addCol", c.add_col);
  find_in_cbc(library, "Cbc_addRow", c.add_row);
  find_in_cbc(library, "Cbc_setLogLevel", c.set_log_level);
  find_in_cbc(library, "Cbc_setAllowableGap", c.set_allowable_gap);
  find_in_cbc(library, "Cbc_setParameter", c.set_parameter);
  find_in_cbc(library, "Cbc_solve", c.solve);
  find_in_cbc(library, "Cbc_isProvenOptimal", c.is_proven_optimal);
  find_in_cbc(library, "Cbc_getObjValue", c.objective);
  find_in_cbc(library, "Cbc_getColSolution", c.solution);
  return c;
}

}  // namespace

const Cbc& cbc() {
  static const Cbc functions = load_cbc();
  return functions;
}

}  // namespace ampere
