// Text that strangers wrote, in files or over the protocol, made harmless to show.
#pragma once

#include <cstddef>
#include <string>

namespace ampere {

bool is_utf8(const std::string& text);
// Bytes that are not UTF-8, which JSON cannot hold, become U+FFFD.
std::string as_utf8(const std::string& text);

// Control characters become "\x1b" (a C1 control, which UTF-8 writes in two bytes, "\x9b"), marks that turn
// the direction of writing "\u202e", and bytes that are not UTF-8 "\xff". Newlines and tabs stay.
std::string plain_text(const std::string& text);
// The same in one line: newlines and tabs become "\n" and "\t".
std::string plain_line(const std::string& text);

// The same for text that is JSON already: it stays JSON of the same meaning.
std::string plain_json(const std::string& json);

// Characters that XML does not allow become U+FFFD, and so do controls; newlines and tabs stay.
std::string xml_characters(const std::string& text);

}  // namespace ampere
