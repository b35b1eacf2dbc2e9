// Everything ever measured, in one SQLite file. Each point is written in a transaction of its own as
// soon as it is measured, so a killed run loses at most the point it was measuring.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/measurement.h"
#include "store/surface.h"

namespace ampere {

// A machine, its driver, framework and meter: what measurements may be shared between.
struct StoredDevice {
  std::string id;  // 16 hex digits of the fingerprint
  Json fingerprint;
  std::string last_used;  // UTC, ISO 8601; empty for what was brought here and never used
  // What is wrong with the stored fingerprint, which is then left empty; usually nothing is.
  std::string problem;
};

struct StoredPoint {
  std::string surface;  // StoredSurface::name
  Channels channels;
  std::string variant;  // the network that was trained, as JSON, with how it was trained
  Measurement measurement;
  std::string measured_at;  // UTC, ISO 8601; filled in when empty
  std::string origin = "";  // where it was brought from by import or merge; empty: measured into this store
};

struct StoredFact {
  std::string recipe;
  std::string name;
  Json value;
};

// Something in a store that cannot be used, as Store::problems() finds it.
struct StoreProblem {
  std::string kind;      // "point", "fact" or "device"
  std::int64_t row = 0;  // of the point or fact; what `store remove --point` takes
  std::string device;    // its id
  std::string subject;   // the surface of a point, recipe and name of a fact, empty for a device
  std::string what;      // is wrong

  // "point 17 of split/hidden/... on device 0123...: ..."
  std::string text() const;
};

struct SurfaceCount {
  std::string recipe;
  StoredSurface surface;
  int points = 0;
};

class Store {
 public:
  // Creates the file and its folder when missing. Throws Error{kBadInput} for a file that is not a
  // store or was written by a newer version, Error{kFailed} for one that cannot be opened.
  explicit Store(const std::string& path);
  // For those who only read: where there is no file, an empty store in memory stands for it, and neither the
  // file nor its folder is made.
  static Store to_read(const std::string& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Returns the id; marks the device as used now.
  std::string add_device(const Json& fingerprint);
  // The same without marking it: a device that was never used here comes last.
  std::string know_device(const Json& fingerprint);
  std::vector<StoredDevice> devices() const;  // most recently used first

  // The surface becomes known with its first point; the point's own name of it is not looked at. Throws
  // Error{kFailed} when the disk is full or the file locked.
  void add_point(const std::string& device, const std::string& recipe, const StoredSurface& surface,
                 const StoredPoint& point);
  // In the order they were measured. Throws Error{kBadInput} that names a point that cannot be true.
  std::vector<StoredPoint> points(const std::string& device, const std::string& recipe,
                                  const std::string& surface) const;
  // By recipe and name.
  std::vector<SurfaceCount> surfaces(const std::string& device) const;

  // All that happens between the two calls is kept together or not at all; the destructor of what the first
  // one returns takes it back unless commit() was called.
  class Transaction {
   public:
    explicit Transaction(Store& store);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Store& store_;
    bool open_ = true;
  };

  // Facts about a device under a recipe that are not points, such as its idle power. Later ones win.
  void put_fact(const std::string& device, const std::string& recipe, const std::string& name,
                const Json& value);
  std::optional<Json> fact(const std::string& device, const std::string& recipe,
                           const std::string& name) const;
  // All of a device, by recipe and name. Both throw Error{kBadInput} for one that cannot be true.
  std::vector<StoredFact> facts(const std::string& device) const;

  // Points that cannot be true, facts and devices that cannot be read. Nothing of a device that is a problem
  // itself is listed.
  std::vector<StoreProblem> problems() const;
  // Removes what problems() found; of a device all that belongs to it.
  void remove(const StoreProblem& problem);
  // False when there is no point of that id.
  bool remove_point(std::int64_t id);

  const std::string& path() const;

 private:
  struct Impl;
  void make_tables();  // or migrates those of an older version
  std::unique_ptr<Impl> impl_;
};

// $AMPERE_STORE, else ampere/profiles.db under the XDG data directory. Empty where neither HOME nor
// XDG_DATA_HOME tells where that is.
std::string default_store_path();

// Throws Error{kBadInput} for a path that names no file: an empty one, or a name that SQLite reads otherwise.
void require_store_path(const std::string& path);

// Now, as UTC in ISO 8601.
std::string utc_now();

}  // namespace ampere
