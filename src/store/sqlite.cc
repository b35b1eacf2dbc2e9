#include "store/sqlite.h"

#include "base/error.h"

namespace ampere {

void store_failed(sqlite3* db, int code, const std::string& path) {
  const std::string why = path + ": " + sqlite3_errmsg(db);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw bad_input(why + "; not an ampere store, or damaged: move it away or name another with --store");
    case SQLITE_IOERR:
      throw Error(ErrorKind::kFailed,
                  why + "; the disk may be full or failing, what was measured so far is kept");
    case SQLITE_FULL:
      throw Error(ErrorKind::kFailed, why + "; free some disk space, what was measured so far is kept");
    case SQLITE_BUSY:
      throw Error(ErrorKind::kFailed,
                  why + "; another ampere is writing to it, try again when it has finished");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      throw Error(ErrorKind::kFailed, why + "; check its permissions or name another with --store");
    default:
      throw Error(ErrorKind::kFailed, why);
  }
}

}  // namespace ampere
