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
  std::string last_used;  // UTC, ISO 8601
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
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Returns the id; marks the device as used now.
  std::string add_device(const Json& fingerprint);
  std::vector<StoredDevice> devices() const;  // most recently used first

  // The surface becomes known with its first point; the point's own name of it is not looked at. Throws
  // Error{kFailed} when the disk is full or the file locked.
  void add_point(const std::string& device, const std::string& recipe, const StoredSurface& surface,
                 const StoredPoint& point);
  // In the order they were measured.
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
  // All of a device, by recipe and name.
  std::vector<StoredFact> facts(const std::string& device) const;

  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// $AMPERE_STORE, else ampere/profiles.db under the XDG data directory.
std::string default_store_path();

// Now, as UTC in ISO 8601.
std::string utc_now();

}  // namespace ampere
