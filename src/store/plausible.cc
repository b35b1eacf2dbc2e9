#include "store/plausible.h"

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kLongestDetail = 4096;  // a meter may be a command line
constexpr double kMostMemoryBytes = 1e16;

bool begins_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// Whole networks cost what the sum of their layers costs, times a factor that is near 1: e^10 is 22,000.
void require_composition(const JsonReader& r) {
  r.number("log_bias"), r.number("deviation"), r.integer("networks");  // must be there
  r.number_between("log_bias", 0, -10, 10);
  r.number_between("deviation", 0, 0, 100);
  r.integer_between("networks", 0, 0, 1000000);
  r.number_between("fixed_share", 0, -1e4, 1e4);
  r.number_between("typical", 0, 0, 1e15);
}

void require_effort(const JsonReader& r) {
  r.number("time_s"), r.number("fitting_time_s"), r.integer("points");
  r.number_between("time_s", 0, 0, 1e10);
  r.number_between("fitting_time_s", 0, 0, 1e10);
  r.integer_between("points", 0, 0, 1000000000);
}

}  // namespace

void require_fingerprint(const Json& fingerprint, const std::string& where) {
  const JsonReader r(fingerprint, where);
  const auto text = [&](const char* key, std::size_t longest) {
    if (r.text(key, "").size() > longest) {
      throw bad_input(where + ": field \"" + key + "\" must have at most " + std::to_string(longest) +
                      " characters, found " + std::to_string(r.text(key).size()));
    }
  };
  for (const char* key : {"name", "type"}) text(key, kLongestName);
  for (const char* key : {"driver", "framework", "blas", "allocator", "meter"}) text(key, kLongestDetail);
  r.integer_between("cores", 1, 0, 100000000);
}

void require_plausible_fact(const std::string& name, const Json& value, const std::string& where) {
  if (name == "idle") {
    const JsonReader r(value, where);
    r.number("power_w");
    r.number_between("power_w", 0, 0, kMostIdleWatts);
  } else if (begins_with(name, "composition/")) {
    require_composition(JsonReader(value, where));
  } else if (begins_with(name, "profiling/")) {
    require_effort(JsonReader(value, where));
  } else if (name == "thermal") {
    const JsonReader r(value, where);
    for (const char* key : {"idle_w", "cold_w", "sustained_w"})
      r.number(key), r.number_between(key, 0, 0, kMostIdleWatts);
    for (const char* key : {"warm", "slowdown", "exponent"})
      r.number(key), r.number_between(key, 0, 0.01, 1000);
    for (const char* key : {"time_constant_s", "seconds"}) r.number(key), r.number_between(key, 0, 0, 1e9);
  } else if (name == "memory") {
    const JsonReader r(value, where);
    r.number("bytes");
    r.number_between("bytes", 0, 1, kMostMemoryBytes);
  } else if (name == "relative") {
    const JsonReader r(value, where);
    r.text("device"), r.boolean("sister");
  }
}

void require_channels(Channels channels) {
  constexpr std::int64_t kWidest = std::int64_t{1} << 40;
  if (channels.in < 0 || channels.out < 0 || channels.in > kWidest || channels.out > kWidest) {
    throw bad_input("no layer has " + std::to_string(channels.in) + " channels in and " +
                    std::to_string(channels.out) + " out");
  }
}

}  // namespace ampere
