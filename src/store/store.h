// Everything ever measured, in one SQLite file or on a PostgreSQL server. Each point is written in a
// transaction of its own as soon as it is measured, so a killed run loses at most the point it was measuring.
#pragma once

#include <map>
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
  std::string last_used;  // UTC, ISO 8601, with milliseconds; empty for what was brought here and never used
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
  // 32 hex digits that no other measurement has, filled in when empty. A store keeps a point of the same
  // device and identity once, however often it is brought there.
  std::string identity = "";
};

struct StoredFact {
  std::string recipe;
  std::string name;
  Json value;
};

// Something in a store that cannot be used, as Store::problems() finds it.
struct StoreProblem {
  std::string kind;      // "point", "fact" or "device"
  std::int64_t row = 0;  // of the point; what `store remove --point` takes
  std::string device;    // its id
  std::string subject;   // the surface of a point, recipe and name of a fact, empty for a device
  std::string what;      // is wrong
  std::string recipe = "", name = "";  // of a fact

  // "point 17 of split/hidden/... on device 0123...: ..."
  std::string text() const;
};

struct SurfaceCount {
  std::string recipe;
  StoredSurface surface;
  int points = 0;
};

// What waited in a file until a server was back.
struct Delivery {
  int points = 0;        // that the server did not have
  int points_known = 0;  // that it had, because an earlier delivery was cut off
  int facts = 0;
  std::string file;
  // What the server, or the file, refused first, and how many points and facts wait on because of it.
  std::string problem;
  int left = 0;
};

class Store {
 public:
  // `path`: a file, or the address of a server (store/address.h). Creates the file and its folder, or the
  // server's tables, when missing, and delivers what waits for that server. Throws Error{kBadInput} for what
  // is not a store, was written by a newer version or may not be written by whoever asks, Error{kFailed}
  // for one that cannot be opened.
  explicit Store(const std::string& path);
  // For those who only read: where there is no store, an empty one in memory stands for it, and neither file,
  // folder nor tables are made.
  static Store to_read(const std::string& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Returns the id; marks the device as used now.
  std::string add_device(const Json& fingerprint);
  // The same without marking it: a device that was never used here comes last.
  std::string know_device(const Json& fingerprint);
  std::vector<StoredDevice> devices() const;  // most recently used first
  // Those of devices() from place `from` on that any point is of, at most `most`.
  std::vector<StoredDevice> devices_with_points(int from, int most) const;
  // Devices that have a fact of one of these names, by that name; of several the one used last.
  std::map<std::string, StoredDevice> devices_by_fact(const std::vector<std::string>& names) const;
  // By its id; absent where there is none.
  std::optional<StoredDevice> device(const std::string& id) const;
  // The first by use whose id begins so.
  std::optional<StoredDevice> device_like(const std::string& beginning) const;

  // The surface becomes known with its first point; the point's own name of it is not looked at. Returns the
  // point as it is kept. While a server is away, points wait in a file (aside()) and are delivered when it is
  // back. Throws Error{kFailed} when the disk is full or the file locked.
  StoredPoint add_point(const std::string& device, const std::string& recipe, const StoredSurface& surface,
                        const StoredPoint& point);
  // In the order they were measured. Throws Error{kBadInput} that names a point that cannot be true.
  std::vector<StoredPoint> points(const std::string& device, const std::string& recipe,
                                  const std::string& surface) const;
  // Of several surfaces with one question, which counts where a server answers it.
  std::vector<StoredPoint> points(const std::string& device, const std::string& recipe,
                                  const std::vector<std::string>& surfaces) const;
  bool has_points(const std::string& device, const std::string& recipe) const;
  // Those that any point of the device was measured under, by name.
  std::vector<std::string> recipes(const std::string& device) const;
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
  // All of a device, by recipe and name. These throw Error{kBadInput} for one that cannot be true.
  std::vector<StoredFact> facts(const std::string& device) const;
  // All under one recipe, and those of these names under none.
  std::vector<StoredFact> facts(const std::string& device, const std::string& recipe,
                                const std::vector<std::string>& names) const;
  // Ids of devices that have a fact of that name, under any recipe; those used last first.
  std::vector<std::string> devices_with_fact(const std::string& name) const;

  // Points that cannot be true, facts and devices that cannot be read. Nothing of a device that is a problem
  // itself is listed.
  std::vector<StoreProblem> problems() const;
  // Removes what problems() found; of a device all that belongs to it.
  void remove(const StoreProblem& problem);
  // False when there is no point of that id.
  bool remove_point(std::int64_t id);

  // Lets a role of the server read, or read and write. Throws Error{kBadInput} for files, which have none.
  void grant(const std::string& role, bool write);

  // Brings what waits in a file to the server, and tells what opening the store has brought, too. Throws
  // Error{kBadInput} where the store is a file itself.
  Delivery deliver();
  // The file that points wait in, where this object has put any there that are not delivered yet; else empty.
  std::string aside() const;

  // Why points that wait in a file could not be delivered, where the server itself is there; else empty.
  const std::string& undelivered() const;

  // To print: an address without what is secret in it.
  const std::string& path() const;

 private:
  struct Impl;
  Store();
  void keep_aside(const std::string& device, const std::string& recipe, const StoredSurface* surface,
                  const StoredPoint& point, const StoredFact* fact, const std::string& why);
  void deliver_what_waits();
  std::unique_ptr<Impl> impl_;
};

// Where ampere keeps files of a user: ampere under the XDG data directory. Empty where neither HOME nor
// XDG_DATA_HOME tells.
std::string data_folder();

// $AMPERE_STORE, else profiles.db in data_folder(). Empty where neither HOME nor
// XDG_DATA_HOME tells where that is.
std::string default_store_path();

// True where opening it finds something: the file is there, or it is on a server.
bool store_exists(const std::string& path);

// Throws Error{kBadInput} for a path that names no file: an empty one, or a name that SQLite reads otherwise.
void require_store_path(const std::string& path);

// Now, as UTC in ISO 8601: "2026-11-18T12:00:00Z", or with milliseconds "2026-11-18T12:00:00.000Z".
enum class TimeDigits { kSeconds, kMilliseconds };
std::string utc_now(TimeDigits digits = TimeDigits::kSeconds);

}  // namespace ampere
