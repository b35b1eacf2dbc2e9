// A relative of a device that was measured before: another card of the name, or the same hardware under
// another driver or framework. What it taught counts for the device, as far as relatives are alike.
#pragma once

#include <optional>
#include <string>

#include "model/work_covariance.h"
#include "store/store.h"

namespace ampere {

struct Relative {
  std::string device;  // its id, in the same store
  bool sister = true;  // the same driver and framework: another card of the name

  Relation relation() const { return sister ? sister_card() : other_software(); }
};

// Absent: nothing was taken from elsewhere. Throws Error{kBadInput} for a fact that makes no sense.
std::optional<Relative> relative_of(const Store& store, const std::string& device);

// Whether a device is in a store only because it is another one's relative.
bool is_elsewhere(const Json& fingerprint);

struct TakenOver {
  Relative relative;
  std::string name;  // of the hardware
  int points = 0;    // that count from now on
};

// Copies what `other` has of a device of the same name into the store, as a device of its own, and notes it
// as a relative of `device`; a second time it adds what is new. `id` is that of the device in `other`, or how
// it starts; empty: the one used last, of the same name and meter where there is one. Throws Error{kBadInput}
// where the two are no relatives.
TakenOver take_over(Store& store, const std::string& device, const Store& other, const std::string& id);

}  // namespace ampere
