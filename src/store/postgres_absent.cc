// In place of postgres.cc where libpqxx was not found.
#include "store/address.h"
#include "store/database.h"

namespace ampere {

std::unique_ptr<Database> open_postgres(const std::string& address) {
  throw bad_input(printable_address(address) +
                  ": this ampere was built without libpqxx and keeps its measurements in files only; name a "
                  "file with --store, or build it where libpqxx is (scripts/setup build)");
}

}  // namespace ampere
