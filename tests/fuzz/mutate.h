// How inputs are spoiled: bytes, JSON, and messages of protocol buffers.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "harness.h"

namespace ampere::fuzz {

// A number that breaks what is not careful, as text: "1e308", "-0", "9223372036854775808", "NaN".
std::string hostile_number(Random& random);

// Flips, deletes, repeats and cuts bytes, and brings some from another seed.
void spoil_bytes(Random& random, std::string& bytes, const std::string& other);

// A text of JSON: values replaced, fields deleted, renamed and repeated, lists grown, all nested deeper; in
// some of them also bytes. `seeds` are texts of JSON.
std::string spoiled_json(Random& random, const std::vector<std::string>& seeds);
// One string or number out of such a text.
std::string spoiled_text(Random& random, std::string text);

// The wire format: fields keep their lengths in order while something deep inside is spoiled.
std::string spoiled_message(Random& random, const std::vector<std::string>& seeds);

}  // namespace ampere::fuzz
