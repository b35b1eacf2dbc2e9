#include "model/measured_works.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/capped.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/statistics.h"
#include "model/layer_work.h"
#include "model/part_work.h"
#include "model/relative.h"
#include "model/within_calls.h"

namespace ampere {
namespace {

// Calls that are over before their size matters, on any device: they are told by their sizes to a power of
// two, so that the many small tensors of layers become few works.
constexpr double kSmall = 4096;
// Parts of which one core describes so many together.
constexpr std::size_t kDescribedTogether = 250;

bool is_coarse(const OpWork& w) {
  switch (w.family) {
    case OpFamily::kPointwise:
    case OpFamily::kCopy:
    case OpFamily::kReduction:
    case OpFamily::kUpdate:
      return std::max(w.rows, w.flops) <= kSmall && w.bytes <= 16 * kSmall;
    default:
      return false;
  }
}

double to_power_of_two(double value) { return value < 1 ? value : std::exp2(std::round(std::log2(value))); }

std::vector<CountedWork> coarse(std::vector<CountedWork> works) {
  for (CountedWork& w : works) {
    if (!is_coarse(w.work)) continue;
    for (double* size : {&w.work.rows, &w.work.columns, &w.work.depth, &w.work.flops, &w.work.bytes})
      *size = to_power_of_two(*size);
  }
  return gathered(std::move(works));
}

// A place is the very same work only under the same optimizer.
std::string place_of(LayerRole role, const LayerKind& kind, Channels channels, const std::string& recipe) {
  if (is_captured(kind)) return kind.word();
  return std::string(to_word(role)) + "/" + kind.word() + " " + std::to_string(channels.in) + ">" +
         std::to_string(channels.out) + " " + recipe.substr(0, recipe.find('-'));
}

// Absent where calls do not tell it; damaged parts and impossible layers say nothing about the others.
std::optional<std::vector<CountedWork>> works_at(const StoredSurface& surface, Channels channels,
                                                 const std::string& recipe, const CallStyle& style) {
  if (is_captured(*surface.kind)) return work_of_part(*surface.kind, recipe, style.accelerator);
  return coarse(work_of_layer(*surface.kind, channels, surface.role, recipe, style));
}

// What an iteration costs that trains nothing, under one recipe.
struct Empty {
  double time_s = 0, energy_j = 0, host_s = 0;
};

Empty empty_of(const DeviceProfile& profile, const std::string& recipe) {
  std::vector<double> times, energies, hosts;
  for (const StoredPoint& p : profile.store().points(profile.device(), recipe, empty_surface().name)) {
    times.push_back(p.measurement.time_s);
    if (p.measurement.energy_j) energies.push_back(*p.measurement.energy_j);
    if (p.measurement.host_s) hosts.push_back(*p.measurement.host_s);
  }
  const auto middle = [](std::vector<double> values) {
    return values.empty() ? 0 : median(std::move(values));
  };
  return {middle(times), middle(energies), middle(hosts)};
}

// As LayerModels tells them: less the empty iteration, but something.
double less(double raw, double fixed) { return std::max(raw - fixed, 0.02 * raw); }

MeasuredWork measured_work(std::string place, std::vector<CountedWork> works, const Measurement& m,
                           bool captured, const Empty& empty) {
  MeasuredWork out{std::move(place), std::move(works), m.time_s, m.time_error,
                   m.energy_j,       m.energy_error,   m.host_s, Where::kHere};
  if (captured) return out;
  if (m.host_s) out.host_s = less(*m.host_s, empty.host_s);
  if (m.mode == "replay") return out;  // it contains no iteration's fixed cost
  out.time_s = less(m.time_s, empty.time_s);
  out.time_error *= m.time_s / out.time_s;
  if (m.energy_j) {
    out.energy_j = less(*m.energy_j, empty.energy_j);
    out.energy_error *= *m.energy_j / *out.energy_j;
  }
  return out;
}

double distance(Channels a, Channels b) {
  const auto apart = [](std::int64_t x, std::int64_t y) {
    return std::log2(static_cast<double>(std::max<std::int64_t>(x, 1))) -
           std::log2(static_cast<double>(std::max<std::int64_t>(y, 1)));
  };
  return std::hypot(apart(a.in, b.in), apart(a.out, b.out));
}

// The points of one kind, those with energy first, each as far as can be from those before it. Points of one
// place stay together.
std::vector<const StoredPoint*> spread_out(const std::vector<const StoredPoint*>& points) {
  std::vector<const StoredPoint*> out;
  std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());
  std::vector<bool> taken(points.size(), false);
  while (out.size() < points.size()) {
    std::size_t best = points.size();
    const auto worth = [&](std::size_t i) {
      return std::make_pair(points[i]->measurement.energy_j.has_value(), nearest[i]);
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!taken[i] && (best == points.size() || worth(i) > worth(best))) best = i;
    }
    taken[best] = true;
    out.push_back(points[best]);
    for (std::size_t i = 0; i < points.size(); ++i)
      nearest[i] = std::min(nearest[i], distance(points[i]->channels, points[best]->channels));
  }
  return out;
}

struct Source {
  StoredSurface surface;
  std::string recipe;
  std::vector<StoredPoint> points;
};

std::vector<Source> sources_of(const DeviceProfile& profile) {
  const bool accelerator = profile.call_style().accelerator;
  std::vector<Source> out;
  std::map<std::string, std::vector<std::string>> names;  // by recipe: thousands, read together
  for (const SurfaceCount& s : profile.surfaces()) {
    if (!shares_calls(s.recipe, profile.recipe(), accelerator) || !s.surface.kind ||
        !told_by_works(s.surface))
      continue;
    out.push_back({s.surface, s.recipe, {}});
    names[s.recipe].push_back(s.surface.name);
  }
  profile.fetch(names[profile.recipe()]);
  std::map<std::pair<std::string, std::string>, std::vector<StoredPoint>> elsewhere;
  for (const auto& [recipe, surfaces] : names) {
    if (recipe == profile.recipe()) continue;
    for (StoredPoint& p : profile.store().points(profile.device(), recipe, surfaces))
      elsewhere[{recipe, p.surface}].push_back(std::move(p));
  }
  for (Source& source : out) {
    if (source.recipe == profile.recipe())
      source.points = profile.points(source.surface.name);
    else
      source.points = std::move(elsewhere[{source.recipe, source.surface.name}]);
  }
  return out;
}

class Selection {
 public:
  Selection(const DeviceProfile& profile, Computes asked)
      : profile_(profile), style_(profile.call_style()), asked_(asked), within_(style_.accelerator) {}

  MeasuredWorks take() {
    const std::vector<Source> sources = sources_of(profile_);
    add_within(sources);
    // Surfaces and probes of one kind are one.
    std::map<std::string, std::vector<std::pair<const Source*, const StoredPoint*>>> kinds;
    for (const Source& source : sources) {
      if (source.surface.purpose == Purpose::kWithin) continue;
      if (is_captured(*source.surface.kind)) {  // each is a kind of its own, with one place
        for (const StoredPoint& p : source.points) add(source, p, false);
      } else {
        const std::string word = std::string(to_word(source.surface.role)) + source.surface.kind->word();
        for (const StoredPoint& p : source.points) kinds[word + source.recipe].emplace_back(&source, &p);
      }
    }
    std::vector<std::vector<std::pair<const Source*, const StoredPoint*>>> ordered;
    std::size_t longest = 0;
    for (const auto& [word, points] : kinds) {
      std::map<const StoredPoint*, const Source*> source_of;
      std::vector<const StoredPoint*> plain;
      for (const auto& [source, point] : points) {
        source_of[point] = source;
        plain.push_back(point);
      }
      ordered.emplace_back();
      for (const StoredPoint* point : spread_out(plain))
        ordered.back().emplace_back(source_of.at(point), point);
      longest = std::max(longest, points.size());
    }
    for (std::size_t rank = 0; rank < longest && !full_; ++rank) {
      for (const auto& points : ordered) {
        if (rank < points.size() && !full_) add(*points[rank].first, *points[rank].second, true);
      }
    }
    if (within_.count(asked_) >= kEnoughWithin) within_.keep(asked_);
    for (MeasuredWork& call : within_.take(kMostWithin)) out_.seen.push_back(std::move(call));
    return std::move(out_);
  }

 private:
  void add_within(const std::vector<Source>& sources) {
    // Thousands, and to describe one takes longer than all else that is done with it.
    std::vector<std::vector<CountedWork>> works(sources.size());
    in_parallel(sources.size(), kDescribedTogether, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (sources[i].surface.purpose != Purpose::kWithin) continue;
        try {
          const LayerKind& kind = *sources[i].surface.kind;
          works[i] =
              work_of_part(kind, sources[i].recipe, style_.accelerator).value_or(std::vector<CountedWork>{});
        } catch (const Error&) {  // a damaged one says nothing about the others
        }
      }
    });
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (works[i].empty()) continue;
      for (const StoredPoint& p : sources[i].points) within_.add(works[i], p.measurement);
    }
  }

  void add(const Source& source, const StoredPoint& point, bool bounded) {
    std::optional<std::vector<CountedWork>> works;
    try {
      works = works_at(source.surface, point.channels, source.recipe, style_);
    } catch (const Error&) {
    }
    if (!works || works->empty()) return;
    if (bounded) {
      for (const CountedWork& w : *works) distinct_.insert(w.work);
      full_ = distinct_.size() > kMostDistinctWorks || out_.seen.size() >= kMostWorkPoints;
      if (full_) return;
    } else {  // the covariance of all calls is to fit into the memory of a small machine
      if (of_parts_.size() >= kMostPartWorks || out_.seen.size() >= kMostWorkPoints) return;
      for (const CountedWork& w : *works) of_parts_.insert(w.work);
    }
    const LayerKind& kind = *source.surface.kind;
    auto [empty, is_new] = empties_.try_emplace(source.recipe);
    if (is_new) empty->second = empty_of(profile_, source.recipe);
    out_.seen.push_back(measured_work(place_of(source.surface.role, kind, point.channels, source.recipe),
                                      std::move(*works), point.measurement, is_captured(kind),
                                      empty->second));
    out_.energies = out_.energies || point.measurement.energy_j;
    out_.modelled = out_.modelled || point.measurement.modelled;
  }

  const DeviceProfile& profile_;
  CallStyle style_;
  Computes asked_;
  WithinCalls within_;
  MeasuredWorks out_;
  std::set<OpWork> distinct_, of_parts_;
  std::map<std::string, Empty> empties_;
  bool full_ = false;
};

}  // namespace

bool told_by_works(const StoredSurface& surface) {
  return surface.method == kSplit && surface.phase == Phase::kIteration && !surface.neighbours.before &&
         !surface.neighbours.after;
}

MeasuredWorks measured_works(const DeviceProfile& profile, Computes asked) {
  MeasuredWorks out = Selection(profile, asked).take();
  const auto relative = relative_of(profile.store(), profile.device());
  if (!relative || relative->device == profile.device()) return out;
  const DeviceProfile there(profile.store(), relative->device, profile.recipe());
  MeasuredWorks of_relative = Selection(there, asked).take();
  // What a card draws when it has nothing to do, it also draws while it works.
  const std::optional<double> idle_here = profile.idle_power_w(), idle_there = there.idle_power_w();
  const double more_w = idle_here && idle_there ? *idle_here - *idle_there : 0;
  for (MeasuredWork& work : of_relative.seen) {
    if (out.seen.size() >= kMostWorkPoints + kMostWithin) break;
    if (work.energy_j) *work.energy_j = std::max(*work.energy_j + more_w * work.time_s, 0.1 * *work.energy_j);
    work.where = Where::kElsewhere;
    work.host_s.reset();  // of another host
    out.seen.push_back(std::move(work));
  }
  out.energies = out.energies || of_relative.energies;
  out.modelled = out.modelled || of_relative.modelled;
  out.relation = relative->relation();
  return out;
}

std::shared_ptr<const WorkModel> model_of(const DeviceProfile& profile, MeasuredWorks measured) {
  if (const auto& sheet = profile.sheet())
    return std::make_shared<const WorkModel>(std::move(measured.seen), *sheet, measured.relation);
  return std::make_shared<const WorkModel>(std::move(measured.seen), profile.two_clocks(), measured.relation);
}

std::optional<AskedWork> asked_work(const DeviceProfile& profile, const SurfacePlan& plan,
                                    Channels channels) {
  std::optional<std::vector<CountedWork>> works;
  try {
    works = works_at(plan.surface, channels, profile.recipe(), profile.call_style());
  } catch (const Error& e) {
    throw Error(e.kind(), "layer " + capped(plan.kind.word(), 200) + ": " + e.what());
  }
  if (!works) return std::nullopt;
  return AskedWork{place_of(plan.role, plan.kind, channels, profile.recipe()), *works};
}

}  // namespace ampere
