#include "mutate.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace ampere::fuzz {
namespace {

const std::vector<std::string> kNumbers = {"0",
                                           "-0",
                                           "-0.0",
                                           "1",
                                           "-1",
                                           "2",
                                           "3",
                                           "7",
                                           "0.5",
                                           "1e-300",
                                           "5e-324",
                                           "1e-9",
                                           "1e9",
                                           "1e25",
                                           "1e300",
                                           "1e308",
                                           "-1e308",
                                           "1.7976931348623157e308",
                                           "127",
                                           "128",
                                           "255",
                                           "65535",
                                           "65536",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483648",
                                           "4294967295",
                                           "4294967296",
                                           "1099511627776",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "-9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "100000000000000000000"};
// No numbers of JSON, though some programs write them.
const std::vector<std::string> kNoNumbers = {"NaN",   "nan",    "Infinity", "-Infinity", "inf",
                                             "1e400", "-1e400", "0x10",     "1_000",     "١",
                                             "",      "-",      "1e",       "."};
const std::vector<std::string> kTexts = {"",         " ",        "\n",     "..",       "/",     "-",
                                         "never",    "null",     "true",   "\x1b[31m", "%s%n",  "=1+1",
                                         "<script>", "\xc3\xa4", "a\tb",   "5Wh",      "1h",    "8W",
                                         "eager",    "split",    "conv2d", "lenet5",   "float", "iteration"};

void collect(Json& json, std::vector<Json*>& all) {
  all.push_back(&json);
  if (json.is_structured()) {
    for (Json& child : json) collect(child, all);
  }
}

Json nested(std::size_t depth) {
  Json inner = 1;
  for (std::size_t i = 0; i < depth; ++i) inner = i % 2 ? Json{{"a", inner}} : Json::array({inner});
  return inner;
}

Json hostile_value(Random& random) {
  switch (random.below(10)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return random.one_in(2) ? Json::array() : Json::object();
    case 3:
      return nested(random.one_in(4) ? 100 : 3);
    case 4:
      return random.of(kTexts);
    case 5:
      return std::string(random.one_in(8) ? 100000 : 300, 'n');
    default: {
      const Json number = Json::parse(random.of(kNumbers), nullptr, false);
      return number.is_discarded() ? Json(1e308) : number;
    }
  }
}

void spoil_number(Random& random, Json& json) {
  if (random.one_in(2) || !json.is_number_integer()) {
    const Json number = Json::parse(random.of(kNumbers), nullptr, false);
    if (!number.is_discarded()) json = number;
    return;
  }
  // Near what it was: a different network, and not a refusal at the first look.
  const auto steps = static_cast<std::int64_t>(random.below(5)) - 2;
  const auto value = json.get<std::int64_t>();
  if (value < 1'000'000'000 && value > -1'000'000'000) json = random.one_in(4) ? value * 2 : value + steps;
}

std::string some_key(Random& random, const Json& object) {
  auto field = object.begin();
  std::advance(field, static_cast<std::ptrdiff_t>(random.below(object.size())));
  return field.key();
}

void spoil_object(Random& random, Json& object) {
  if (object.empty() || random.one_in(8)) {
    object[random.of(kTexts)] = hostile_value(random);
    return;
  }
  const std::string key = some_key(random, object);
  switch (random.below(4)) {
    case 0:
      object.erase(key);
      break;
    case 1:
      object[key] = hostile_value(random);
      break;
    case 2: {  // under another field's name
      const std::string other = some_key(random, object);
      std::swap(object[key], object[other]);
      break;
    }
    default: {
      const Json value = object[key];
      object[spoiled_text(random, key)] = value;
    }
  }
}

void spoil_array(Random& random, Json& array) {
  if (array.empty()) {
    array.push_back(hostile_value(random));
    return;
  }
  const std::size_t at = random.below(array.size());
  const Json value = array[at];
  switch (random.below(6)) {
    case 0:
      array.erase(at);
      break;
    case 1:
      array.push_back(value);
      break;
    case 2:
      std::swap(array[at], array[random.below(array.size())]);
      break;
    case 3:
      array[at] = hostile_value(random);
      break;
    case 4:
      while (array.size() > at) array.erase(array.size() - 1);
      break;
    default:
      for (std::size_t i = 0, n = random.one_in(10) ? 2000 : 5; i < n && array.size() < 3000; ++i)
        array.push_back(value);
  }
}

void spoil_value(Random& random, Json& json) {
  if (json.is_number()) return spoil_number(random, json);
  if (json.is_string()) {
    json = spoiled_text(random, json.get<std::string>());
  } else if (json.is_object()) {
    spoil_object(random, json);
  } else if (json.is_array()) {
    spoil_array(random, json);
  } else {
    json = hostile_value(random);
  }
}

// What only a text can have: fields twice, numbers that are none, brackets without end.
void spoil_json_text(Random& random, std::string& text) {
  const std::size_t at = random.below(text.size() + 1);
  switch (random.below(5)) {
    case 0: {
      const std::size_t open = text.find('{', at), comma = text.find(',', open);
      if (comma != std::string::npos) text.insert(open + 1, text.substr(open + 1, comma - open));
      break;
    }
    case 1: {
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      const std::size_t end = text.find_first_not_of("0123456789.eE+-", digit);
      const auto& number = random.one_in(2) ? random.of(kNoNumbers) : random.of(kNumbers);
      text.replace(digit, (end == std::string::npos ? text.size() : end) - digit, number);
      break;
    }
    case 2:
      text.insert(at, std::string(random.one_in(4) ? 100000 : 70, random.one_in(2) ? '[' : '{'));
      break;
    case 3:
      text.resize(at);
      break;
    default:
      spoil_bytes(random, text, text);
  }
}

bool read_varint(const std::string& bytes, std::size_t& at, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

struct WireField {
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  // of wire type 0
  std::string bytes;         // of wire type 2; raw ones of 1 and 5
};

bool read_message(const std::string& bytes, std::vector<WireField>& fields) {
  for (std::size_t at = 0; at < bytes.size();) {
    WireField field;
    std::uint64_t length = 0;
    if (!read_varint(bytes, at, field.tag) || field.tag >> 3 == 0 || field.tag >> 3 > 64) return false;
    switch (field.tag & 7) {
      case 0:
        if (!read_varint(bytes, at, field.number)) return false;
        fields.push_back(std::move(field));
        continue;
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2:
        if (!read_varint(bytes, at, length)) return false;
        break;
      default:
        return false;
    }
    if (length > bytes.size() - at) return false;
    field.bytes = bytes.substr(at, length);
    at += length;
    fields.push_back(std::move(field));
  }
  return !fields.empty();
}

std::string written(const std::vector<WireField>& fields) {
  std::string bytes;
  for (const WireField& field : fields) {
    bytes += varint(field.tag);
    if ((field.tag & 7) == 0) {
      bytes += varint(field.number);
      continue;
    }
    if ((field.tag & 7) == 2) bytes += varint(field.bytes.size());
    bytes += field.bytes;
  }
  return bytes;
}

std::uint64_t hostile_integer(Random& random) {
  const std::uint64_t all[] = {0,
                               1,
                               2,
                               3,
                               7,
                               16,
                               127,
                               1u << 20,
                               1u << 31,
                               std::uint64_t{1} << 40,
                               std::uint64_t{1} << 62,
                               std::uint64_t{1} << 63,
                               ~std::uint64_t{0},
                               ~std::uint64_t{0} - 1};
  return random.of(all);
}

std::string spoiled_within(Random& random, const std::string& message, int depth) {
  std::vector<WireField> fields;
  if (depth > 12 || !read_message(message, fields)) {
    std::string bytes = message;
    spoil_bytes(random, bytes, bytes);
    return bytes;
  }
  const std::size_t at = random.below(fields.size());
  WireField& field = fields[at];
  const bool inside = (field.tag & 7) == 2 && !random.one_in(6);
  if (inside) {
    field.bytes = random.one_in(12) ? spoiled_text(random, field.bytes)
                                    : spoiled_within(random, field.bytes, depth + 1);
  } else if ((field.tag & 7) == 0 && !random.one_in(3)) {
    field.number = random.one_in(2) ? hostile_integer(random) : field.number + random.below(5) - 2;
  } else {
    const WireField copy = field;
    switch (random.below(5)) {
      case 0:
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(random.below(fields.size())), copy);
        break;
      case 2:
        std::swap(field, fields[random.below(fields.size())]);
        break;
      case 3:
        field.tag = (random.below(32) + 1) << 3 | (field.tag & 7);
        break;
      default:
        field.bytes = fields[random.below(fields.size())].bytes;
    }
  }
  return written(fields);
}

}  // namespace

std::string hostile_number(Random& random) {
  return random.one_in(6) ? random.of(kNoNumbers) : random.of(kNumbers);
}

void spoil_bytes(Random& random, std::string& bytes, const std::string& other) {
  const std::size_t at = random.below(bytes.size() + 1);
  const std::size_t some = 1 + random.below(random.one_in(4) ? 256 : 8);
  switch (random.below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      for (std::size_t i = at; i < std::min(bytes.size(), at + some); ++i)
        bytes[i] = static_cast<char>(random.next());
      break;
    case 2:
      bytes.erase(at, some);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, some));
      break;
    case 4:
      if (random.one_in(4)) bytes.resize(at);
      break;
    case 5: {
      const std::size_t from = random.below(other.size() + 1);
      bytes.replace(at, random.one_in(2) ? some : 0, std::string(other, from, some));
      break;
    }
    default:
      for (std::size_t i = at; i < std::min(bytes.size(), at + some); ++i)
        bytes[i] = static_cast<char>(random.one_in(2) ? 0xff : 0);
  }
}

std::string spoiled_text(Random& random, std::string text) {
  const std::size_t digit = text.find_first_of("0123456789");
  switch (random.below(digit == std::string::npos ? 4 : 8)) {
    case 0:
      return random.of(kTexts);
    case 1:
      return std::string(random.one_in(8) ? 100000 : 300, 'n');
    case 2:
      return text + text;
    case 3: {
      spoil_bytes(random, text, text);
      return text;
    }
    default: {  // "5Wh" becomes "1e308Wh"
      const std::size_t end = text.find_first_not_of("0123456789.", digit);
      return text.substr(0, digit) + hostile_number(random) +
             (end == std::string::npos ? "" : text.substr(end));
    }
  }
}

std::string spoiled_json(Random& random, const std::vector<std::string>& seeds) {
  Json json = Json::parse(random.of(seeds));
  // In half of them numbers only: what is refused at the first look hides what comes behind it.
  const bool numbers_only = random.one_in(2);
  for (std::size_t i = 0, n = 1 + random.below(random.one_in(4) ? 8 : 2); i < n; ++i) {
    std::vector<Json*> all;
    collect(json, all);
    Json& chosen = *random.of(all);
    if (!numbers_only) {
      spoil_value(random, chosen);
    } else if (chosen.is_number()) {
      spoil_number(random, chosen);
    }
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (random.one_in(numbers_only ? 20 : 4)) spoil_json_text(random, text);
  return text;
}

std::string spoiled_message(Random& random, const std::vector<std::string>& seeds) {
  std::string bytes = random.of(seeds);
  for (std::size_t i = 0, n = 1 + random.below(random.one_in(4) ? 8 : 3); i < n; ++i)
    bytes = spoiled_within(random, bytes, 0);
  if (random.one_in(6)) spoil_bytes(random, bytes, random.of(seeds));
  return bytes;
}

}  // namespace ampere::fuzz
