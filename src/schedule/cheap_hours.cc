// Jobs of a plan moved to hours in which energy is cheap. The jobs stay the same, so does what they are
// worth.
//
// On one device, in one order, the best starts are found exactly: what a job costs is piecewise linear in
// when it starts, so in some best plan every run of jobs without a gap touches an hour's edge, a deadline, a
// window or a release, and those are finitely many places. Few jobs: all orders and assignments are tried so;
// many: lanes are improved one exchange at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ampere/schedule.h"
#include "base/error.h"
#include "schedule/plan_draft.h"

namespace ampere {
namespace {

constexpr std::size_t kMostTriedJobs = 6;  // all orders of these are looked at
constexpr std::size_t kMostTriedDevices = 6;
constexpr double kMostWork = 6e7;      // starts that are looked at in all; the clock plays no part
constexpr int kMostExchanges = 20000;  // lanes that are looked at where jobs are many
constexpr double kNoPlan = std::numeric_limits<double>::infinity();

struct TimedLane {
  std::vector<std::size_t> jobs;
  std::vector<double> starts_s;
  double cost = kNoPlan;
  bool possible() const { return cost < kNoPlan; }
};

// A forecast, added up once, so that any mean is two looks away.
class AddedRates {
 public:
  explicit AddedRates(const Forecast& forecast) : forecast_(forecast), sums_(forecast.rates.size() + 1, 0) {
    for (std::size_t i = 0; i < forecast.rates.size(); ++i) {
      const double to = i + 1 < forecast.rates.size() ? forecast.rates[i + 1].from_s : forecast.end_s;
      sums_[i + 1] = sums_[i] + forecast.rates[i].per_kwh * (to - forecast.rates[i].from_s);
      highest_ = i == 0 ? forecast.rates[i].per_kwh : std::max(highest_, forecast.rates[i].per_kwh);
    }
  }
  double mean(double start_s, double until_s) const {
    return (until(until_s) - until(start_s)) / (until_s - start_s);
  }

 private:
  double until(double time_s) const {
    if (time_s >= forecast_.end_s) return sums_.back() + highest_ * (time_s - forecast_.end_s);
    const auto next = std::upper_bound(forecast_.rates.begin(), forecast_.rates.end(), time_s,
                                       [](double t, const Forecast::Rate& rate) { return t < rate.from_s; });
    if (next == forecast_.rates.begin()) return 0;
    const auto i = static_cast<std::size_t>(next - forecast_.rates.begin()) - 1;
    return sums_[i] + forecast_.rates[i].per_kwh * (time_s - forecast_.rates[i].from_s);
  }

  const Forecast& forecast_;
  std::vector<double> sums_;
  double highest_ = 0;
};

class CheapHours {
 public:
  CheapHours(const Problem& problem, const Workshop& workshop, const Forecast& forecast,
             const std::vector<PlannedJob>& plan)
      : problem_(problem),
        workshop_(workshop),
        forecast_(forecast),
        added_(forecast),
        lanes_(problem.devices.size()) {
    std::vector<PlannedJob> by_start = plan;
    std::stable_sort(by_start.begin(), by_start.end(),
                     [](const PlannedJob& a, const PlannedJob& b) { return a.start_s < b.start_s; });
    start_s_.assign(problem.jobs.size(), 0);
    end_s_.assign(problem.jobs.size(), 0);
    planned_.assign(problem.jobs.size(), false);
    for (const PlannedJob& p : by_start) {
      lanes_[p.device].jobs.push_back(p.job);
      lanes_[p.device].starts_s.push_back(p.start_s);
      start_s_[p.job] = p.start_s;
      end_s_[p.job] = p.end_s;
      planned_[p.job] = true;
      jobs_.push_back(p.job);
    }
    for (std::size_t d = 0; d < lanes_.size(); ++d) lanes_[d].cost = cost_of(lanes_[d], d);
  }

  void improve() {
    for (std::size_t d = 0; d < lanes_.size(); ++d) take(d, best_starts(lanes_[d].jobs, d));
    const bool chained = std::any_of(jobs_.begin(), jobs_.end(),
                                     [&](std::size_t j) { return !problem_.jobs[j].depends_on.empty(); });
    if (!chained && jobs_.size() <= kMostTriedJobs && lanes_.size() <= kMostTriedDevices &&
        orders() * starts() <= kMostWork)
      try_everything();
    else
      exchange();
  }

  std::vector<PlannedJob> plan() const {
    std::vector<PlannedJob> out;
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      LaneState state = initial_state(workshop_.supplies[d]);
      for (std::size_t i = 0; i < lanes_[d].jobs.size(); ++i) {
        const std::size_t j = lanes_[d].jobs[i];
        const Slot slot = slot_at(d, state, j, lanes_[d].starts_s[i]);
        out.push_back({j, d, slot.start_s, slot.after.time_s, workshop_.demand(j, d).energy_j, slot.lowest_j,
                       slot.after.level_j});
        state = slot.after;
      }
    }
    return out;
  }

 private:
  // How many lanes trying everything would look at, and how many starts in each, about.
  double orders() const {
    double sum = 0, chosen = 1;  // ordered choices of k of n jobs
    for (std::size_t k = 0; k < jobs_.size(); ++k) sum += chosen *= static_cast<double>(jobs_.size() - k);
    return sum * static_cast<double>(lanes_.size());
  }
  double starts() const {
    const auto n = static_cast<double>(jobs_.size());
    return n * n * 2 * static_cast<double>(forecast_.rates.size());
  }

  double job_cost_at(std::size_t job, std::size_t device, double start_s) const {
    const JobCost& cost = *problem_.jobs[job].costs[device];
    return cost.energy_j.mean() / 3.6e6 * added_.mean(start_s, start_s + workshop_.demand(job, device).run_s);
  }

  double cost_of(const TimedLane& lane, std::size_t device) const {
    double sum = 0;
    for (std::size_t i = 0; i < lane.jobs.size(); ++i)
      sum += job_cost_at(lane.jobs[i], device, lane.starts_s[i]);
    return sum;
  }

  Slot slot_at(std::size_t device, const LaneState& state, std::size_t job, double start_s) const {
    const Demand& demand = workshop_.demand(job, device);
    return next_slot(workshop_.supplies[device], problem_.devices[device].available, state, demand, start_s,
                     start_s + demand.slot_s * (1 + kRounding));
  }

  // Whether the battery bears it.
  bool holds(const TimedLane& lane, std::size_t device) const {
    LaneState state = initial_state(workshop_.supplies[device]);
    for (std::size_t i = 0; i < lane.jobs.size(); ++i) {
      const Slot slot = slot_at(device, state, lane.jobs[i], lane.starts_s[i]);
      if (!slot.fits || slot.start_s > lane.starts_s[i] + 1e-6 * (1 + lane.starts_s[i])) return false;
      state = slot.after;
    }
    return true;
  }

  // Not before those it waits for have ended, as planned now.
  double release_of(std::size_t job, const std::vector<std::size_t>& lane) const {
    double release = problem_.jobs[job].earliest_s;
    for (const std::size_t needed : problem_.jobs[job].depends_on) {
      if (std::find(lane.begin(), lane.end(), needed) == lane.end())
        release = std::max(release, end_s_[needed]);
    }
    return release;
  }

  // Ended by its deadline, and before those start that wait for it on other devices.
  double due_of(std::size_t job, const std::vector<std::size_t>& lane) const {
    double due = problem_.jobs[job].deadline_s;
    for (const std::size_t waiting : workshop_.dependents[job]) {
      if (planned_[waiting] && std::find(lane.begin(), lane.end(), waiting) == lane.end())
        due = std::min(due, start_s_[waiting]);
    }
    return due;
  }

  bool ordered(const std::vector<std::size_t>& lane) const {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      for (const std::size_t needed : problem_.jobs[lane[i]].depends_on) {
        const auto at = std::find(lane.begin(), lane.end(), needed);
        if (at != lane.end() && at > lane.begin() + static_cast<std::ptrdiff_t>(i)) return false;
      }
    }
    return true;
  }

  // The cheapest starts in this order. Times are counted less the slots before a job, so that one job behind
  // the other means that they do not fall.
  TimedLane best_starts(const std::vector<std::size_t>& order, std::size_t device) const {
    TimedLane lane{order, {}, kNoPlan};
    const std::size_t n = order.size();
    if (n == 0) return {{}, {}, 0};
    if (!ordered(order)) return lane;
    std::vector<double> before(n, 0), release(n), due(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Demand& demand = workshop_.demand(order[i], device);
      if (!demand.possible) return lane;
      if (i + 1 < n) before[i + 1] = before[i] + demand.slot_s;
      release[i] = release_of(order[i], order);
      due[i] = due_of(order[i], order);
    }
    std::vector<double> places;
    for (std::size_t i = 0; i < n; ++i) {
      const Demand& demand = workshop_.demand(order[i], device);
      const auto add = [&](double start_s) {
        if (start_s >= 0 && start_s < kNever) places.push_back(start_s - before[i]);
      };
      add(release[i]);
      add(due[i] - demand.slot_s);
      for (const Forecast::Rate& rate : forecast_.rates) {
        add(rate.from_s);
        add(rate.from_s - demand.run_s);
      }
      add(forecast_.end_s - demand.run_s);
      for (const TimeWindow& w : problem_.devices[device].available) {
        add(w.start_s);
        add(w.end_s - demand.slot_s);
      }
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end(), [](double a, double b) { return b - a < 1e-9; }),
                 places.end());
    work_ += static_cast<double>(n * places.size());
    // least[i][u]: of jobs up to i, the last of them at place u or before; from[i][u]: where it is then.
    std::vector<std::vector<double>> least(n, std::vector<double>(places.size(), kNoPlan));
    std::vector<std::vector<std::size_t>> from(n, std::vector<std::size_t>(places.size(), 0));
    for (std::size_t i = 0; i < n; ++i) {
      double best = kNoPlan;
      std::size_t at = 0;
      for (std::size_t u = 0; u < places.size(); ++u) {
        const double start = places[u] + before[i];
        const double earlier = i == 0 ? 0 : least[i - 1][u];
        if (earlier < kNoPlan && may_run(order[i], device, start, release[i], due[i])) {
          const double cost = earlier + job_cost_at(order[i], device, start);
          if (best == kNoPlan || cost < best - 1e-12 * std::abs(best)) {
            best = cost;
            at = u;
          }
        }
        least[i][u] = best;
        from[i][u] = at;
      }
    }
    if (!(least[n - 1].back() < kNoPlan)) return lane;
    lane.cost = least[n - 1].back();
    lane.starts_s.assign(n, 0);
    std::size_t u = places.size() - 1;
    for (std::size_t i = n; i-- > 0;) {
      u = from[i][u];
      lane.starts_s[i] = places[u] + before[i];
    }
    if (!holds(lane, device)) lane.cost = kNoPlan;
    return lane;
  }

  bool may_run(std::size_t job, std::size_t device, double start_s, double release_s, double due_s) const {
    const double end = start_s + workshop_.demand(job, device).slot_s;
    const double tolerance = 1e-9 * (1 + std::abs(end));
    if (start_s < release_s - tolerance || start_s < 0 || end > due_s + tolerance) return false;
    return std::any_of(
        problem_.devices[device].available.begin(), problem_.devices[device].available.end(),
        [&](const TimeWindow& w) { return start_s >= w.start_s - tolerance && end <= w.end_s + tolerance; });
  }

  void take(std::size_t device, const TimedLane& lane) {
    if (!lane.possible() || !(lane.cost < lanes_[device].cost)) return;
    put(device, lane);
  }

  void put(std::size_t device, const TimedLane& lane) {
    lanes_[device] = lane;
    for (std::size_t i = 0; i < lane.jobs.size(); ++i) {
      start_s_[lane.jobs[i]] = lane.starts_s[i];
      end_s_[lane.jobs[i]] = lane.starts_s[i] + workshop_.demand(lane.jobs[i], device).slot_s;
    }
  }

  // The cheapest order of every set of jobs on every device, then the cheapest way to share all jobs out.
  void try_everything() {
    const std::size_t n = jobs_.size(), sets = std::size_t{1} << n;
    std::vector<std::vector<TimedLane>> by_set(lanes_.size(), std::vector<TimedLane>(sets));
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      for (std::size_t set = 0; set < sets; ++set) {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < n; ++i) {
          if ((set >> i) & 1) order.push_back(jobs_[i]);
        }
        std::sort(order.begin(), order.end());
        do {
          TimedLane lane = best_starts(order, d);
          if (lane.cost < by_set[d][set].cost) by_set[d][set] = std::move(lane);
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
    // least[d][set]: the first d devices run this set.
    std::vector<std::vector<double>> least(lanes_.size() + 1, std::vector<double>(sets, kNoPlan));
    std::vector<std::vector<std::size_t>> part(lanes_.size() + 1, std::vector<std::size_t>(sets, 0));
    least[0][0] = 0;
    for (std::size_t d = 0; d < lanes_.size(); ++d) {
      for (std::size_t set = 0; set < sets; ++set) {
        for (std::size_t mine = set;; mine = (mine - 1) & set) {
          const double cost = by_set[d][mine].cost + least[d][set & ~mine];
          if (cost < least[d + 1][set]) {
            least[d + 1][set] = cost;
            part[d + 1][set] = mine;
          }
          if (mine == 0) break;
        }
      }
    }
    double now = 0;
    for (const TimedLane& lane : lanes_) now += lane.cost;
    std::size_t set = sets - 1;
    if (!(least[lanes_.size()][set] < now)) return;
    for (std::size_t d = lanes_.size(); d-- > 0;) {
      const std::size_t mine = part[d + 1][set];
      put(d, by_set[d][mine]);
      set &= ~mine;
    }
  }

  // Moves one job to another place or device as long as that is cheaper.
  void exchange() {
    int tried = 0;
    for (bool better = true; better && tried < kMostExchanges && work_ < kMostWork;) {
      better = false;
      for (std::size_t from = 0; from < lanes_.size(); ++from) {
        for (std::size_t i = 0; i < lanes_[from].jobs.size(); ++i) {
          for (std::size_t to = 0; to < lanes_.size() && work_ < kMostWork; ++to)
            better |= moved(from, i, to, tried);
        }
      }
      for (std::size_t d = 0; d < lanes_.size(); ++d) {
        const double before = lanes_[d].cost;
        take(d, best_starts(lanes_[d].jobs, d));
        better |= lanes_[d].cost < before - 1e-12 * std::abs(before);
      }
    }
  }

  bool moved(std::size_t from, std::size_t i, std::size_t to, int& tried) {
    if (i >= lanes_[from].jobs.size()) return false;
    const std::size_t job = lanes_[from].jobs[i];
    if (!problem_.jobs[job].costs[to]) return false;
    std::vector<std::size_t> rest = lanes_[from].jobs;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<std::size_t> others = from == to ? rest : lanes_[to].jobs;
    // Those that wait for it, or that it waits for, are held to their present times.
    const TimedLane left = from == to ? TimedLane{{}, {}, 0} : best_starts(rest, from);
    if (!left.possible()) return false;
    const double now = from == to ? lanes_[from].cost : lanes_[from].cost + lanes_[to].cost;
    for (std::size_t place = 0; place <= others.size(); ++place) {
      std::vector<std::size_t> order = others;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), job);
      ++tried;
      const TimedLane lane = best_starts(order, to);
      if (!lane.possible() || !(lane.cost + left.cost < now - 1e-9 * std::abs(now))) continue;
      if (from != to) put(from, left);
      put(to, lane);
      return true;
    }
    return false;
  }

  const Problem& problem_;
  const Workshop& workshop_;
  const Forecast& forecast_;
  AddedRates added_;
  mutable double work_ = 0;
  std::vector<TimedLane> lanes_;
  std::vector<std::size_t> jobs_;
  std::vector<double> start_s_, end_s_;  // by job
  std::vector<bool> planned_;
};

}  // namespace

Plan move_to_cheap_hours(const Problem& problem, const Plan& plan, const Forecast& forecast,
                         const ScheduleOptions& o) {
  check(forecast);
  if (plan.jobs.empty()) return plan;
  const Workshop workshop(problem, plan.planning_risk);
  CheapHours cheap(problem, workshop, forecast, plan.jobs);
  cheap.improve();
  Plan moved = plan;
  moved.jobs = cheap.plan();
  if (!(forecast_cost(problem, moved.jobs, forecast) < forecast_cost(problem, plan.jobs, forecast)))
    return plan;
  moved.check = simulate(problem, moved.jobs, o.check_draws, o.seed ^ 0x9e3779b97f4a7c15u, o.errors);
  moved.holds = o.risk >= (o.jointly ? moved.check.any_failed
                                     : std::max(moved.check.worst_battery(), moved.check.worst_late()));
  // What was safe stays safe.
  return plan.holds && !moved.holds ? plan : moved;
}

}  // namespace ampere
