#include "schedule/cbc.h"

namespace ampere {

const Cbc& cbc() {
  static const Cbc functions = {Cbc_newModel,        Cbc_deleteModel,     Cbc_addCol,        Cbc_addRow,
                                Cbc_setLogLevel,     Cbc_setAllowableGap, Cbc_setParameter,  Cbc_solve,
                                Cbc_isProvenOptimal, Cbc_getObjValue,     Cbc_getColSolution};
  return functions;
}

}  // namespace ampere
