// Which training job runs where and when, so that no battery dies and deadlines hold: what a
// federated-learning server asks before it starts jobs. docs/scheduling.md has the problem, the assumptions
// and an example. All functions here are pure, but for schedule_jobs_file(), and may be called by several
// threads at once.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ampere/estimate.h"

namespace ampere {

// A cost that is known up to a factor: what an estimate says of a job's energy or time.
struct LogNormal {
  double median = 0;  // joules or seconds
  double sigma = 0;   // deviation of the logarithm; 0: known exactly

  // As Estimate gives them: a value and the upper bound of its 95% interval.
  static LogNormal from_interval(double value, double high);
  // With exactly this mean and standard deviation. The mean must be positive, the deviation not negative.
  static LogNormal from_mean(double mean, double deviation);

  double mean() const;
  // What it stays under with this probability, which lies between 0 and 1, both excluded.
  double quantile(double probability) const;
  double probability_below(double value) const;
  LogNormal operator*(double factor) const { return {median * factor, sigma}; }
};

struct JobCost {
  LogNormal energy_j = {};
  LogNormal time_s = {};
};
// What an estimate says of a job of so many iterations (iterations_of()). Its error is one of the estimate,
// not of iterations: it does not average out over them.
JobCost job_cost(const Estimate& estimate, double iterations);

// One job and one battery: may it start?
struct Admission {
  bool fits = false;
  double available_j = 0;
  double needed_j = 0;     // stays under it with probability 1 - risk
  double margin_j = 0;     // available less needed; negative: short by so much
  double probability = 0;  // that the job ends before the battery does
};
// `available_j`: what may be taken from the battery. `risk` between 0 and 1, both excluded. Throws
// Error{kBadInput}.
Admission admit(const LogNormal& energy_j, double available_j, double risk);

// All times count from now, the moment the schedule begins.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct TimeWindow {
  double start_s = 0;
  double end_s = kNever;
};

struct Battery {
  double capacity_j = 0;
  double charge_j = 0;   // now
  double reserve_j = 0;  // must never fall below this
};

struct Charger {
  double power_w = 0;
  std::vector<TimeWindow> plugged = {};  // in order, apart; empty: never
};

struct ScheduleDevice {
  std::string name = {};
  std::optional<Battery> battery = {};  // absent: it hangs on the mains
  std::optional<Charger> charger = {};
  double background_w = 0;                   // drawn all the time by whatever else the device does
  std::vector<TimeWindow> available = {{}};  // in order, apart; a job runs within one of them
};

struct ScheduleJob {
  std::string name = {};
  // Jobs of one kind err together on a device, all too high or all too low: the same family of networks at
  // the same batch. Empty: a kind of its own.
  std::string kind = {};
  double value = 1;
  double earliest_s = 0;
  double deadline_s = kNever;
  std::vector<std::size_t> depends_on = {};        // jobs that must have ended before it starts
  std::vector<std::optional<JobCost>> costs = {};  // by device; absent: cannot run there, or nobody knows
  std::vector<std::string> why_not = {};           // by device, for absent costs: one clause ("not profiled")
};

// What is to be scheduled: jobs with what they cost on each device, and devices with what they have.
struct Problem {
  std::vector<ScheduleDevice> devices;
  std::vector<ScheduleJob> jobs;
};

enum class Solver {
  kAuto,       // exact for few jobs and devices, else the heuristic
  kExact,      // proven to be of most value; at most 24 jobs
  kHeuristic,  // greedy with local improvement
};

// How errors hang together. Jobs of one kind on one device err by one common factor; devices err
// independently.
struct ErrorModel {
  double between_kinds = 0.5;  // correlation of the errors of different kinds on one device
  double time_energy = 0.7;    // correlation of a job's time with its energy
};

struct ScheduleOptions {
  // Every battery stays above its reserve, and every job ends in time, each with probability 1 - risk.
  double risk = 0.05;
  // All batteries and deadlines hold together with that probability, instead of each.
  bool jointly = false;
  Solver solver = Solver::kAuto;
  ErrorModel errors = {};
  std::size_t work = 3'000'000;     // of the heuristic: slots looked for, at most; the clock plays no part
  std::uint64_t seed = 1;           // of the heuristic and of the draws that check its plan
  std::size_t check_draws = 4'000;  // a plan is tried in so many, and made safer where they fail too often
};

struct PlannedJob {
  std::size_t job = 0;     // index into Problem::jobs
  std::size_t device = 0;  // index into Problem::devices
  double start_s = 0;
  double end_s = 0;             // of the time set aside for it
  double energy_j = 0;          // set aside for it
  double battery_lowest_j = 0;  // until its end, if it takes what was set aside; 0 on the mains
  double battery_after_j = 0;
};

enum class RefusalKind {
  kNotProfiled,  // no device has a cost for it
  kDeadline,     // it would be late on every device, even on an empty one
  kBattery,      // no battery holds enough, or none does in time
  kOutbid,       // it would fit alone, but not beside jobs that are worth more
  kDependency,   // what it waits for was refused
};
// "not_profiled", "deadline", "battery", "outbid", "dependency"
const char* to_word(RefusalKind kind);

struct Refusal {
  std::size_t job = 0;
  RefusalKind kind = RefusalKind::kOutbid;
  std::size_t device = static_cast<std::size_t>(-1);  // where it came nearest; -1: nowhere
  double short_j = 0;                                 // the battery is short by this there
  double late_s = 0;                                  // it would be late by this there
  std::string text;  // one sentence with these figures, without the job's name
};

struct Simulation {
  std::size_t draws = 0;
  std::vector<double> battery_failed;  // by device: share of draws in which it fell below its reserve
  std::vector<double> late;            // by job: share of draws in which it ended behind deadline or window
  double any_failed = 0;               // share of draws in which anything did
  double worst_battery() const;
  double worst_late() const;
};

struct Plan {
  std::vector<PlannedJob> jobs;  // by device, then start
  std::vector<Refusal> refused;  // in the order of the problem
  double value = 0;              // of the jobs planned
  double value_asked = 0;        // of all
  double bound = 0;      // no plan at this risk is worth more; value_asked when nothing better is known
  bool optimal = false;  // proven
  bool exact = false;    // by the exact solver
  std::vector<double> planning_risk;  // by device: what slots were made for, less than the chosen risk
  Simulation check;                   // the draws that the plan was tried in
  bool holds = false;                 // in those, what was asked for held as often as asked for
};

// Jobs that do not fit are refused in the plan, with why; that is no error. Throws Error{kBadInput} for a
// problem that makes no sense (negative or unordered figures, names that are empty or occur twice,
// dependencies in a circle, costs of the wrong number) and for a risk outside 0.0001 .. 0.5.
Plan schedule(const Problem& problem, const ScheduleOptions& options = {});

// Runs a plan many times with energies and times drawn anew, and counts what went wrong. Each device runs its
// jobs in the planned order. None starts before its planned time, because the battery may need that time to
// charge, nor before those it waits for have ended. Nothing is ever given up: a job that is late or a battery
// that is empty is counted, and the day goes on.
Simulation simulate(const Problem& problem, const std::vector<PlannedJob>& plan, std::size_t draws,
                    std::uint64_t seed, const ErrorModel& model = {});

// What a kWh costs, or emits, from now on.
struct Forecast {
  struct Rate {
    double from_s = 0;   // until the next one begins
    double per_kwh = 0;  // money, or grams of CO2 equivalent; may be negative
  };
  std::vector<Rate> rates = {};  // the first begins at 0
  double end_s = 0;              // behind it nobody knows: it counts as the highest rate

  // The mean of a time, in which energy is drawn evenly.
  double mean_per_kwh(double start_s, double until_s) const;
};
// A CSV file of lines "HOUR,VALUE", hours from now; a header and lines that begin with # are allowed. Throws
// Error{kBadInput} that names the line.
Forecast read_forecast(const std::string& path);
// What the energy of planned jobs costs by the forecast, each drawn evenly over its median time.
double forecast_cost(const Problem& problem, const std::vector<PlannedJob>& jobs, const Forecast& forecast);
// The same jobs at other times, in another order or on other devices where that makes their energy cheaper,
// within deadlines, windows, batteries and dependencies. Never dearer than `plan`, and never less safe where
// it holds. The cheapest that there is with up to 6 jobs that do not wait for each other, none on a battery,
// and a forecast of two days by the hour (fewer jobs: longer).
Plan move_to_cheap_hours(const Problem& problem, const Plan& plan, const Forecast& forecast,
                         const ScheduleOptions& options = {});

struct JobsFileOptions {
  std::string store = {};   // of devices whose entry names none; empty: as DeviceOptions::store
  std::string worker = {};  // runs TorchScript files, where there are any; empty: as DeviceOptions::worker
  ScheduleOptions schedule = {};
};
struct ScheduledJobs {
  Problem problem;  // as read, with costs estimated from the devices' profiles
  Plan plan;
  bool modelled = false;  // some energy is modelled, not measured
};
// What a jobs file asks for (docs/jobs.schema.json). Throws Error{kBadInput} that says where the file is
// wrong.
ScheduledJobs schedule_jobs_file(const std::string& path, const JobsFileOptions& options = {});

}  // namespace ampere
