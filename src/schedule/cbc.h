// The functions of CBC that are called, whichever way the library came into the program.
#pragma once

#include <coin/Cbc_C_Interface.h>

namespace ampere {

struct Cbc {
  decltype(&Cbc_newModel) new_model;
  decltype(&Cbc_deleteModel) delete_model;
  decltype(&Cbc_addCol) add_col;
  decltype(&Cbc_addRow) add_row;
  decltype(&Cbc_setLogLevel) set_log_level;
  decltype(&Cbc_setAllowableGap) set_allowable_gap;
  decltype(&Cbc_setParameter) set_parameter;
  decltype(&Cbc_solve) solve;
  decltype(&Cbc_isProvenOptimal) is_proven_optimal;
  decltype(&Cbc_getObjValue) objective;
  decltype(&Cbc_getColSolution) solution;
};

// Defined twice. cbc_linked.cc is part of the library: whoever links that links CBC. cbc_at_runtime.cc is
// part of the program `ampere`, which hardly ever solves anything and would spend half of its start on
// loading and relocating what CBC links, a whole OpenBLAS among it; throws Error{kFailed} where CBC is not
// installed.
const Cbc& cbc();

}  // namespace ampere
