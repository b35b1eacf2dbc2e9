#include "model/within_calls.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ampere {
namespace {

// A call that takes 2^kLong microseconds or more counts in full, the shortest this much.
constexpr double kLong = 7;
constexpr double kLeastWorth = 0.35;

double worth_of(double time_s) {
  return std::clamp(std::log2(std::max(time_s / 1e-6, 1.0)) / kLong, kLeastWorth, 1.0);
}

}  // namespace

Computes computes_of(const LayerKind& kind, const std::string& recipe) {
  const bool half = is_captured(kind) ? kind.ops.front().word("calls").find("float16\"") !=
                                            std::string::npos  // bfloat16, too
                                      : recipe.find("bf16") != std::string::npos;
  return half ? Computes::kHalf : Computes::kFloat;
}

bool tells(const std::vector<CountedWork>& works, Computes asked) {
  const auto any = [&](bool half) {
    return std::any_of(works.begin(), works.end(), [half](const CountedWork& w) {
      return half ? w.work.element_bytes == 2 : multiplies(w.work.family) && w.work.element_bytes > 2;
    });
  };
  return asked == Computes::kHalf ? any(true) || !any(false) : !any(true);
}

bool any_tells(const std::vector<MeasuredWork>& seen, Computes asked) {
  const auto any = [&](const auto& is_so) {
    return std::any_of(seen.begin(), seen.end(), [&](const MeasuredWork& m) {
      return std::any_of(m.works.begin(), m.works.end(), [&](const CountedWork& w) { return is_so(w.work); });
    });
  };
  const bool half = any([](const OpWork& w) { return w.element_bytes == 2; });
  if (asked == Computes::kHalf) return half;
  return !half || any([](const OpWork& w) { return multiplies(w.family) && w.element_bytes > 2; });
}

std::size_t WithinCalls::count(Computes asked) const {
  return static_cast<std::size_t>(std::count_if(
      calls_.begin(), calls_.end(), [&](const auto& one) { return tells(one.second.works, asked); }));
}

void WithinCalls::keep(Computes asked) {
  std::erase_if(calls_, [&](const auto& one) { return !tells(one.second.works, asked); });
}

void WithinCalls::add(std::vector<CountedWork> works, const Measurement& m) {
  std::vector<std::pair<OpWork, double>> key;
  key.reserve(works.size());
  for (const CountedWork& w : works) key.emplace_back(w.work, w.count);
  Call& call = calls_[std::move(key)];
  call.works = std::move(works);
  call.log_time += std::log(m.time_s);
  call.error = std::max(call.error, m.time_error);
  ++call.count;
}

std::vector<MeasuredWork> WithinCalls::take(std::size_t most) const {
  const Roof roof = believed_roof(accelerator_);
  WorkNames names;
  struct Candidate {
    const Call* call;
    WorkPoint point;  // of what takes the longest among its works
    double time_s, worth, nearest;
  };
  std::vector<Candidate> all;
  for (const auto& [key, call] : calls_) {
    const auto largest = std::max_element(
        call.works.begin(), call.works.end(), [&](const CountedWork& a, const CountedWork& b) {
          return a.count * roof.seconds(a.work) < b.count * roof.seconds(b.work);
        });
    const double time_s = std::exp(call.log_time / call.count);
    all.push_back({&call, point_of(largest->work, roof, names), time_s, worth_of(time_s),
                   std::numeric_limits<double>::infinity()});
  }
  std::vector<MeasuredWork> out;
  while (out.size() < std::min(most, all.size())) {
    const auto next = std::max_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return std::make_pair(a.worth * a.nearest, a.time_s) < std::make_pair(b.worth * b.nearest, b.time_s);
    });
    next->nearest = -1;  // taken
    MeasuredWork seen;
    seen.place = "within " + std::to_string(out.size());
    seen.works = next->call->works;
    seen.time_s = next->time_s;
    seen.time_error = next->call->error;
    out.push_back(std::move(seen));
    const WorkPoint taken = next->point;
    for (Candidate& c : all) {
      if (c.nearest > 0) c.nearest = std::min(c.nearest, std::max(distance_of(c.point, taken), 1e-9));
    }
  }
  return out;
}

}  // namespace ampere
