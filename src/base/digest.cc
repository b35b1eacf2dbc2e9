#include "base/digest.h"

#include <cstdint>

namespace ampere {

std::string hex_digest(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  static const char* digits = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 0; i < 16; ++i) out[15 - i] = digits[hash >> (4 * i) & 15];
  return out;
}

}  // namespace ampere
