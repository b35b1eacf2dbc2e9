// What points are measured for: the typed identity of a surface in the store. Names are made here and parsed
// nowhere (but where stores of version 1 are migrated, migrate.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "layers/layer_kind.h"
#include "measure/request.h"

namespace ampere {

enum class Purpose {
  kSurface,     // a kind of layer, for a method's regression
  kTimedProbe,  // a layer at its own channels, mostly without its energy, as earlier versions measured it
  kProbe,       // a layer of one network at its own channels, measured while estimating
  kWithin,      // a call, timed within a whole training step that makes it, without its energy
  kEmpty,       // an iteration that trains nothing
  kWhole,       // a whole network, to learn how layers add up
  kTruth,       // a whole network, to judge estimates by
};
const char* to_word(Purpose purpose);
// Throws Error{kBadInput} for other words.
Purpose purpose_from_word(const std::string& word);

// Layers that stand before and after the one that is meant, in networks of several layers.
struct Neighbours {
  std::optional<LayerKind> before, after;
  std::vector<std::string> subtracted;  // names of the surfaces whose estimates are taken off: before, after
};

struct StoredSurface {
  std::string name;  // unique and readable: "split/hidden/conv3x3p1-relu@14x14b10"
  Purpose purpose = Purpose::kSurface;
  std::string method;  // a row of methods(); empty for whole networks
  LayerRole role = LayerRole::kHidden;
  Phase phase = Phase::kIteration;
  std::optional<LayerKind>
      kind;  // absent for whole networks, empty iterations and what migration could not tell
  Neighbours neighbours;
  std::string family;  // of whole networks: name up to its parameters, and batch ("cnn5@b10")
  int pass = 0;        // of Purpose::kTruth, from 1
};

// The surface of a kind of layer.
StoredSurface layer_surface(const std::string& method, LayerRole role, const LayerKind& kind,
                            Phase phase = Phase::kIteration, Neighbours neighbours = {});
// Layers of that surface that are measured by themselves; `purpose` is one of the two probes, or kWithin.
StoredSurface probe_of(const StoredSurface& surface, Purpose purpose = Purpose::kProbe);
StoredSurface empty_surface();
// A whole network, trained in that mode. `pass` counts from 1 for Purpose::kTruth.
StoredSurface whole_surface(Purpose purpose, const Network& network, std::int64_t batch, MeasureMode mode,
                            int pass = 0);
// "lenet5:c1=3#1234abcd@b10". Names of the zoo say all; networks from files are told apart by their content.
std::string whole_name(const Network& network, std::int64_t batch);
// "cnn5@b10": what whole networks teach is kept by.
std::string family_of(const Network& network, std::int64_t batch);

// All but name, purpose, method, role and phase, which have columns of their own.
Json details_to_json(const StoredSurface& surface);
void read_details(const Json& json, const std::string& where, StoredSurface& surface);

}  // namespace ampere
