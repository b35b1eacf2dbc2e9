// Networks by name: the paper's families, each with its channels as parameters (docs/zoo.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "network/network.h"

namespace ampere {

// One number that shapes a network of the zoo.
struct ZooParameter {
  std::string name;
  std::int64_t value;  // the original
  std::int64_t min = 1;
  std::int64_t step = 1;  // values are multiples of this
  bool sampled = true;    // random networks draw it from min to value; false: an input size or the like
};

using ZooValues = std::map<std::string, std::int64_t>;

struct ZooEntry {
  std::string name;
  std::string family;  // "lenet5", "resnet", ...: what evaluations are grouped by
  std::string description;
  std::vector<ZooParameter> parameters;
  std::function<Network(const ZooValues&)> build;  // expects every parameter
};

const std::vector<ZooEntry>& zoo();
const ZooEntry* find_zoo(const std::string& name);

// "lenet5" or "lenet5:c1=3,f1=60". Throws Error{kBadInput} that lists what is known.
struct ZooChoice {
  const ZooEntry* entry;
  ZooValues values;
};
ZooChoice parse_zoo(const std::string& text);
Network build(const ZooChoice& choice);
// "lenet5:c1=3,f1=60": only what differs from the original. Inverse of parse_zoo.
std::string to_text(const ZooChoice& choice);

}  // namespace ampere
