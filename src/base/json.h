// Reading JSON that strangers wrote: every access checks the type and says where it went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ampere {

using Json = nlohmann::json;

inline constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20;

// Parses text of at most so many bytes and a nesting of at most 64; `what` names the source in errors
// ("networks/mine.json"). Throws Error{kBadInput} with line and column, also for a key that comes twice.
Json parse_json(const std::string& text, const std::string& what, std::size_t most_bytes = kMostJsonBytes);

// Reads a whole file and parses it.
Json read_json_file(const std::string& path, std::size_t most_bytes = kMostJsonBytes);

// One JSON object being read. Getters throw Error{kBadInput} that names `where` and the field;
// `only` refuses fields it does not know, so that a typing mistake is not silently ignored.
class JsonReader {
 public:
  JsonReader(const Json& object, std::string where);

  bool has(const std::string& key) const;
  std::string text(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  double number(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::vector<std::int64_t> integers(const std::string& key) const;
  const Json& array(const std::string& key) const;
  const Json& object(const std::string& key) const;

  std::string text(const std::string& key, const std::string& fallback) const;
  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  double number(const std::string& key, double fallback) const;
  bool boolean(const std::string& key, bool fallback) const;

  // The same, refused outside of low .. high.
  double number_between(const std::string& key, double fallback, double low, double high) const;
  std::int64_t integer_between(const std::string& key, std::int64_t fallback, std::int64_t low,
                               std::int64_t high) const;
  // Throws unless `value`, which was read from the field, is one of the known words.
  void require_one_of(const std::string& key, const std::string& value,
                      const std::vector<std::string>& known) const;

  void only(const std::vector<std::string>& allowed) const;
  const std::string& where() const { return where_; }

 private:
  const Json& at(const std::string& key) const;
  [[noreturn]] void wrong(const std::string& key, const char* expected) const;

  const Json& object_;
  std::string where_;
};

// A number as JSON, null when it is not finite: unmeasured is null, never zero.
Json number_or_null(double value);

}  // namespace ampere
