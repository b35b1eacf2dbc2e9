// What is behind Store. For src/store alone.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "store/database.h"
#include "store/store.h"

namespace ampere {

// False where the store has a point of that device and identity. The surface must be known.
bool insert_point(Database& db, const std::string& device, const std::string& recipe,
                  const std::string& surface, const StoredPoint& point);
// In the place of what was there.
void insert_fact(Database& db, const std::string& device, const StoredFact& fact);

struct Store::Impl {
  std::string path;  // to print
  std::unique_ptr<Database> db;
  std::set<std::string> surfaces;            // that were added by this object
  std::map<std::string, Json> fingerprints;  // of devices that were
  // Surfaces as they were read, by name, with the details that they were read from.
  std::map<std::string, std::pair<std::string, StoredSurface>> typed;
  std::unique_ptr<Store> aside;  // opened when it is needed
  Delivery delivered;            // by opening, or by the way, and not told yet
  int waiting = 0;               // points and facts that were put there and are not delivered
  std::string undelivered;       // why what waits could not be delivered to a server that is there

  // Runs in a transaction, once more where two writers met. `patient`: a server that is away is waited for.
  template <class Run>
  void atomically(bool patient, const Run& run) {
    for (int tries = 0;; ++tries) {
      db->begin(patient);
      try {
        run();
        db->commit();
        return;
      } catch (const WritersMet&) {
        db->rollback();
        if (tries >= 20) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + std::random_device()() % 50));
      } catch (...) {
        db->rollback();
        throw;
      }
    }
  }
};

}  // namespace ampere
