#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kMaxDepth = 64;
// Ten times what a store of an accelerator has. One takes up to a hundred bytes of memory, and two of a file.
constexpr std::size_t kMostValues = 16'000'000;

// Builds the value as the text is read. The library's own builder keeps the last of several equal keys, and
// takes quadratic time as soon as it is given a callback to bound the nesting.
class Builder : public Json::json_sax_t {
 public:
  explicit Builder(const std::string& what) : what_(what) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*digits*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      const std::string place = where();
      throw bad_input(what_ + ": the key " + quoted(name) + " is there twice" +
                      (place.empty() ? "" : " in " + place));
    }
    keys_.back() = std::move(name);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string why = error.what();
    // Without the library's own name for it, "[json.exception.parse_error.101] ".
    if (auto at = why.find("] "); why.front() == '[' && at != std::string::npos) why = why.substr(at + 2);
    // It quotes what it read last, which need not be text at all.
    std::replace_if(
        why.begin(), why.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
    throw bad_input(what_ + ": not valid JSON: " + why);
  }

 private:
  static std::string quoted(const std::string& name) {
    std::string text = Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  }

  // "nodes[3].shape": the object or list that is being read.
  std::string where() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i]->is_array())
        path += "[" + std::to_string(open_[i]->size() - 1) + "]";
      else
        path += (path.empty() ? "" : ".") + quoted(keys_[i]);
    }
    return path;
  }

  template <class Value>
  Json* put(Value&& value) {
    if (++values_ > kMostValues)
      throw bad_input(what_ + ": holds more than " + std::to_string(kMostValues / 1'000'000) +
                      " million values");
    if (open_.empty()) return &(root_ = std::forward<Value>(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::forward<Value>(value));
    return &(parent[keys_.back()] = std::forward<Value>(value));
  }
  template <class Value>
  bool add(Value&& value) {
    put(std::forward<Value>(value));
    return true;
  }
  bool open(Json&& value) {
    // Destruction recurses: a hostile depth would overflow the stack.
    if (open_.size() >= kMaxDepth) throw bad_input(what_ + ": nested deeper than 64 levels");
    open_.push_back(put(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::string& what_;
  Json root_;
  std::size_t values_ = 0;
  // From the root to what is being read. A list that grows moves its elements, but only its last is open.
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  // the latest of each, where it is an object
};

}  // namespace

Json parse_json(const std::string& text, const std::string& what, std::size_t most_bytes) {
  if (text.size() > most_bytes)
    throw bad_input(what + ": larger than " + std::to_string(most_bytes >> 20) + " MiB");
  Builder builder(what);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Json read_json_file(const std::string& path, std::size_t most_bytes) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw bad_input(path + ": is a folder, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw bad_input(path + ": cannot be opened; check the path and its permissions");
  // No more than parse_json() takes, and one byte to see that there is more: /dev/zero has no end.
  std::string text;
  char piece[1 << 16];
  while (text.size() <= most_bytes && (in.read(piece, sizeof piece) || in.gcount() > 0))
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw bad_input(path + ": cannot be read");
  if (text.empty()) throw bad_input(path + ": the file is empty");
  return parse_json(text, path, most_bytes);
}

JsonReader::JsonReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object_.is_object())
    throw bad_input(where_ + ": expected a JSON object, found " + object_.type_name());
}

bool JsonReader::has(const std::string& key) const { return object_.contains(key); }

const Json& JsonReader::at(const std::string& key) const {
  auto it = object_.find(key);
  if (it == object_.end()) throw bad_input(where_ + ": field \"" + key + "\" is missing");
  return *it;
}

void JsonReader::wrong(const std::string& key, const char* expected) const {
  std::string found = at(key).dump(-1, ' ', true, Json::error_handler_t::replace);
  if (found.size() > 60) found = found.substr(0, 57) + "...";
  throw bad_input(where_ + ": field \"" + key + "\" must be " + expected + ", found " + found);
}

std::string JsonReader::text(const std::string& key) const {
  if (!at(key).is_string()) wrong(key, "text");
  return at(key).get<std::string>();
}

std::int64_t JsonReader::integer(const std::string& key) const {
  const Json& v = at(key);
  if (!v.is_number_integer()) wrong(key, "a whole number");
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    wrong(key, "a whole number below 2^63");
  }
  return v.get<std::int64_t>();
}

double JsonReader::number(const std::string& key) const {
  if (!at(key).is_number()) wrong(key, "a number");
  return at(key).get<double>();
}

bool JsonReader::boolean(const std::string& key) const {
  if (!at(key).is_boolean()) wrong(key, "true or false");
  return at(key).get<bool>();
}

std::vector<std::int64_t> JsonReader::integers(const std::string& key) const {
  const Json& v = at(key);
  const bool fits =
      v.is_array() && std::all_of(v.begin(), v.end(), [](const Json& e) {
        return e.is_number_integer() &&
               !(e.is_number_unsigned() && e.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
      });
  if (!fits) wrong(key, "a list of whole numbers");
  return v.get<std::vector<std::int64_t>>();
}

const Json& JsonReader::array(const std::string& key) const {
  if (!at(key).is_array()) wrong(key, "a list");
  return at(key);
}

const Json& JsonReader::object(const std::string& key) const {
  if (!at(key).is_object()) wrong(key, "an object");
  return at(key);
}

std::string JsonReader::text(const std::string& key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}
std::int64_t JsonReader::integer(const std::string& key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}
double JsonReader::number(const std::string& key, double fallback) const {
  return has(key) ? number(key) : fallback;
}
bool JsonReader::boolean(const std::string& key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

double JsonReader::number_between(const std::string& key, double fallback, double low, double high) const {
  const double value = number(key, fallback);
  if (!(value >= low && value <= high)) {
    throw bad_input(where_ + ": field \"" + key + "\" must be between " + Json(low).dump() + " and " +
                    Json(high).dump() + ", found " + Json(value).dump());
  }
  return value;
}

std::int64_t JsonReader::integer_between(const std::string& key, std::int64_t fallback, std::int64_t low,
                                         std::int64_t high) const {
  const std::int64_t value = integer(key, fallback);
  if (value < low || value > high) {
    throw bad_input(where_ + ": field \"" + key + "\" must be between " + std::to_string(low) + " and " +
                    std::to_string(high) + ", found " + std::to_string(value));
  }
  return value;
}

void JsonReader::require_one_of(const std::string& key, const std::string& value,
                                const std::vector<std::string>& known) const {
  std::string list;
  for (const std::string& k : known) {
    if (k == value) return;
    list += (list.empty() ? "" : ", ") + k;
  }
  throw bad_input(where_ + ": field \"" + key + "\" must be one of " + list + ", found \"" + value + "\"");
}

void JsonReader::only(const std::vector<std::string>& allowed) const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    std::string list;
    for (const auto& a : allowed) list += (list.empty() ? "" : ", ") + a;
    throw bad_input(where_ + ": unknown field \"" + key + "\" (known: " + list + ")");
  }
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace ampere
