// A short name for a long text.
#pragma once

#include <string>

namespace ampere {

// 16 hex digits that two texts share by accident once in 2^64 (FNV-1a); no protection against malice.
std::string hex_digest(const std::string& text);

}  // namespace ampere
