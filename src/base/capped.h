// Texts of strangers, kept to a length that a message can carry.
#pragma once

#include <string>

namespace ampere {

// What a worker or a file says is kept to this many bytes wherever it is told.
inline constexpr std::size_t kLongestText = 4096;

// At most `most` bytes (100 or more): of a longer text the beginning and the end, with "[... N bytes left
// out ...]" between them. Characters of several bytes stay whole.
std::string capped(const std::string& text, std::size_t most = kLongestText);

}  // namespace ampere
