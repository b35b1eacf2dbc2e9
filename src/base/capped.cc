#include "base/capped.h"

namespace ampere {
namespace {

bool inside_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

}  // namespace

std::string capped(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t kForTheNote = 50;
  const std::size_t each = (most - kForTheNote) / 2;
  std::size_t head = each, tail = text.size() - each;
  for (int i = 0; i < 3 && inside_character(text, head); ++i) --head;
  for (int i = 0; i < 3 && inside_character(text, tail); ++i) ++tail;
  return text.substr(0, head) + " [... " + std::to_string(tail - head) + " bytes left out ...] " +
         text.substr(tail);
}

}  // namespace ampere
