#include "base/plain_text.h"

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace ampere {
namespace {

constexpr std::uint32_t kInvalid = 0xFFFFFFFF;
constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  std::uint32_t code = kInvalid;  // kInvalid: one byte that is not UTF-8
  std::size_t size = 1;           // in bytes
};

// The character that starts at `at`, by the table of well-formed sequences in chapter 3 of the Unicode
// standard.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() - at < size) return {};
  std::uint32_t code = first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const bool shortest = code >= (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return shortest && !surrogate && code <= 0x10FFFF ? Character{code, size} : Character{};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// What makes a terminal or an editor show a text in another order than it stands.
bool turns_direction(std::uint32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string hex(const char* format, std::uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, format, code);
  return text;
}

// Copies the text; `replaced` gets each character with its code and its bytes, and returns what stands
// instead.
template <class Replaced>
std::string mapped(const std::string& text, Replaced replaced) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    out += replaced(c.code, text.substr(at, c.size));
    at += c.size;
  }
  return out;
}

std::string shown(const std::string& text, bool one_line) {
  return mapped(text, [&](std::uint32_t code, const std::string& bytes) -> std::string {
    if (code == '\n') return one_line ? "\\n" : bytes;
    if (code == '\t') return one_line ? "\\t" : bytes;
    if (code == kInvalid) return hex("\\x%02x", static_cast<std::uint8_t>(bytes[0]));
    if (is_control(code)) return hex("\\x%02x", code);
    return turns_direction(code) ? hex("\\u%04x", code) : bytes;
  });
}

}  // namespace

bool is_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (c.code == kInvalid) return false;
    at += c.size;
  }
  return true;
}

std::string as_utf8(const std::string& text) {
  return mapped(text, [](std::uint32_t code, const std::string& bytes) {
    return code == kInvalid ? kReplacement : bytes;
  });
}

std::string plain_text(const std::string& text) { return shown(text, false); }
std::string plain_line(const std::string& text) { return shown(text, true); }

std::string plain_json(const std::string& json) {
  // Outside of strings JSON has no such characters, and C0 controls are escaped there.
  return mapped(json, [](std::uint32_t code, const std::string& bytes) -> std::string {
    const bool escaped = code >= 0x7F && (is_control(code) || turns_direction(code));
    return escaped ? hex("\\u%04x", code) : bytes;
  });
}

std::string xml_characters(const std::string& text) {
  return mapped(text, [](std::uint32_t code, const std::string& bytes) -> std::string {
    if (code == '\n' || code == '\t') return bytes;
    const bool refused = code == kInvalid || is_control(code) || (code & 0xFFFE) == 0xFFFE;
    return refused ? kReplacement : bytes;
  });
}

}  // namespace ampere
