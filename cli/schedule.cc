// ampere schedule: which training job runs where and when, so that no battery dies and deadlines hold.
#include "ampere/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/quantity_text.h"
#include "common.h"
#include "fleet/slurm.h"
#include "schedule/exact.h"
#include "schedule/jobs_file.h"
#include "session/jobs.h"
#include "tariff_options.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct ScheduleArguments {
  CommonOptions common;
  std::string jobs;
  std::string risk = "5%";
  std::string correlation = "50%";
  std::string solver = "auto";
  std::size_t draws = 0;
  std::uint64_t seed = 1;
  bool compare = false;
  bool jointly = false;
  TariffOptions tariff;
  std::string price_forecast;  // files; empty: none
  std::string carbon_forecast;
  std::string slurm;  // what runs a job; empty: no script is asked for

  ScheduleOptions schedule(Solver which) const {
    ScheduleOptions s;
    s.risk = parse_fraction(risk, "--risk", 1e-4, 0.5);
    s.errors.between_kinds = parse_fraction(correlation, "--correlation");
    s.solver = which;
    s.jointly = jointly;
    s.seed = seed;
    return s;
  }
  Solver which() const {
    return solver == "exact" ? Solver::kExact : solver == "heuristic" ? Solver::kHeuristic : Solver::kAuto;
  }
};

// Hours, minutes and seconds from now: "26:05:00".
std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(std::llround(seconds));
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string wh_text(double joules) {
  const double wh = joules / 3600;
  return std::abs(wh) >= 0.1 ? fmt::format("{:.{}f} Wh", wh, std::abs(wh) < 10 ? 2 : 1) : joules_text(joules);
}

// By a forecast, of the plan as it is and as it was before jobs were moved to cheap hours.
struct Forecasted {
  Forecast forecast;
  double before = 0, after = 0;
};

struct Report {
  Problem problem;
  Plan plan;
  std::optional<Simulation> simulation;
  std::optional<Plan> other;  // the heuristic's, to compare with
  bool modelled = false;
  Tariff tariff;
  std::optional<Forecasted> price, carbon;
  std::size_t moved = 0;
  std::vector<std::optional<TrainingJob>> training;  // by job
};

// What a job is said to take: what ampere estimate says, which is the median, or what its file says, the
// mean.
double told_cost(const Report& r, std::size_t job, const LogNormal& cost) {
  return job < r.training.size() && r.training[job] ? cost.median : cost.mean();
}

Interval cost_interval(const Report& r, std::size_t job, const LogNormal& cost) {
  return {told_cost(r, job, cost), cost.quantile(0.025), cost.quantile(0.975)};
}

// Of all planned jobs, as if all of them erred together: never too narrow.
Interval planned_energy(const Report& r) {
  Interval sum;
  for (const PlannedJob& p : r.plan.jobs) {
    const Interval one = cost_interval(r, p.job, r.problem.jobs[p.job].costs[p.device]->energy_j);
    sum = {sum.value + one.value, sum.low + one.low, sum.high + one.high};
  }
  return sum;
}

std::string solver_text(const Plan& plan) {
  if (plan.optimal)
    return plan.exact ? "exact solver, proven best" : "nothing is left out, so it is the best plan";
  return plan.exact
             ? fmt::format("exact solver, given up early: no plan is worth more than {:.4g}", plan.bound)
             : "heuristic, not proven best";
}

void print_plan(const Report& r) {
  Table table{{"device", "job", "starts", "ends by", "energy", "set aside", "battery then", "deadline"},
              {},
              {false, false, true, true, true, true, true, true},
              1};
  for (const PlannedJob& p : r.plan.jobs) {
    const ScheduleJob& job = r.problem.jobs[p.job];
    const ScheduleDevice& device = r.problem.devices[p.device];
    table.rows.push_back({device.name, job.name, clock_text(p.start_s), clock_text(p.end_s),
                          wh_text(told_cost(r, p.job, job.costs[p.device]->energy_j)), wh_text(p.energy_j),
                          device.battery ? wh_text(p.battery_after_j) : "mains",
                          job.deadline_s < kNever ? clock_text(job.deadline_s) : ""});
  }
  print(table);
}

void print_simulation(const Report& r, double risk) {
  const Simulation& s = *r.simulation;
  say(fmt::format(
      "simulated {} times: the battery that failed most often did in {:.2f}% of them, the job that was "
      "late most often in {:.2f}%; {} was allowed",
      s.draws, 100 * s.worst_battery(), 100 * s.worst_late(), percent_text(risk)));
  say(fmt::format("all batteries and all deadlines held together in {:.1f}% of them",
                  100 * (1 - s.any_failed)));
}

double gap_of(const Report& r) { return r.plan.value > 0 ? 1 - r.other->value / r.plan.value : 0; }

void print_text(const ScheduleArguments& o, const Report& r) {
  const double risk = o.schedule(Solver::kAuto).risk;
  if (!r.plan.jobs.empty()) {
    print_plan(r);
    print("\n");
  }
  say(fmt::format(
      "{} of {} jobs planned, worth {:.6g} of {:.6g} ({}); {} with probability {:.6g}%{}", r.plan.jobs.size(),
      r.problem.jobs.size(), r.plan.value, r.plan.value_asked, solver_text(r.plan),
      o.jointly ? "all batteries and all deadlines together hold" : "each battery and each deadline holds",
      100 * (1 - risk), r.modelled ? "; energies are modelled, not measured" : ""));
  if (!r.tariff.empty())
    say(fmt::format("all of them: {} at {}", bill_text(r.tariff, planned_energy(r)), tariff_text(r.tariff)));
  if (r.price)
    say(fmt::format("by the forecast their energy costs {} instead of {}; {} of them were moved for it",
                    money_text(r.price->after, r.tariff.currency),
                    money_text(r.price->before, r.tariff.currency), r.moved));
  if (r.carbon)
    say(fmt::format("by the forecast it emits {} instead of {}{}", carbon_text(r.carbon->after),
                    carbon_text(r.carbon->before),
                    r.price ? "" : fmt::format("; {} jobs were moved for it", r.moved)));
  if (!r.plan.holds) {
    say("this plan could not be made safe: tried in draws, a battery or a deadline failed more often than "
        "that; later deadlines and fewer dependencies help");
  }
  if (r.simulation) print_simulation(r, risk);
  if (r.other) {
    say(fmt::format("the heuristic's plan is worth {:.6g}, {} less than the exact one", r.other->value,
                    percent_text(gap_of(r))));
  }
  if (!r.plan.refused.empty()) print("\nrefused\n");
  for (const Refusal& refusal : r.plan.refused)
    say(fmt::format("{}: {}", r.problem.jobs[refusal.job].name, refusal.text));
  for (const Refusal& refusal : r.plan.refused) {
    const auto& training = r.training[refusal.job];
    if (refusal.kind != RefusalKind::kNotProfiled || !training) continue;
    say(fmt::format("to profile {}, on one of the devices: ampere profile {} --batch {}",
                    r.problem.jobs[refusal.job].name, training->network, training->batch));
    break;
  }
}

Json job_json(const Report& r, const PlannedJob& p) {
  const ScheduleJob& job = r.problem.jobs[p.job];
  const ScheduleDevice& device = r.problem.devices[p.device];
  const JobCost& cost = *job.costs[p.device];
  Json j = {{"name", job.name},
            {"device", device.name},
            {"start_s", p.start_s},
            {"end_s", p.end_s},
            {"deadline_s", number_or_null(job.deadline_s)},
            {"value", job.value},
            {"energy_j", told_cost(r, p.job, cost.energy_j)},
            {"energy_set_aside_j", p.energy_j},
            {"time_s", told_cost(r, p.job, cost.time_s)},
            {"time_set_aside_s", p.end_s - p.start_s},
            {"battery_lowest_j", device.battery ? Json(p.battery_lowest_j) : Json()},
            {"battery_after_j", device.battery ? Json(p.battery_after_j) : Json()}};
  put_bill(j, r.tariff, cost_interval(r, p.job, cost.energy_j));
  if (r.simulation) j["late_share"] = r.simulation->late[p.job];
  return j;
}

Json device_json(const Report& r, std::size_t d) {
  const ScheduleDevice& device = r.problem.devices[d];
  Json j = {{"name", device.name}, {"planning_risk", r.plan.planning_risk[d]}};
  double lowest = device.battery ? device.battery->charge_j : 0;
  int jobs = 0;
  for (const PlannedJob& p : r.plan.jobs) {
    if (p.device != d) continue;
    ++jobs;
    lowest = std::min(lowest, p.battery_lowest_j);
  }
  j["jobs"] = jobs;
  j["battery_lowest_j"] = device.battery ? Json(lowest) : Json();
  j["battery_reserve_j"] = device.battery ? Json(device.battery->reserve_j) : Json();
  if (r.simulation) j["battery_failed_share"] = r.simulation->battery_failed[d];
  return j;
}

void print_json_plan(const ScheduleArguments& o, const Report& r) {
  const ScheduleOptions used = o.schedule(Solver::kAuto);
  Json out = {{"schema_version", kOutputSchemaVersion},
              {"risk", used.risk},
              {"correlation", used.errors.between_kinds},
              {"jointly", used.jointly},
              {"holds", r.plan.holds},
              {"modelled", r.modelled},
              {"solver", r.plan.exact ? "exact" : "heuristic"},
              {"optimal", r.plan.optimal},
              {"value", r.plan.value},
              {"value_asked", r.plan.value_asked},
              {"value_bound", r.plan.bound},
              {"jobs", Json::array()},
              {"refused", Json::array()},
              {"devices", Json::array()}};
  const Interval energy = planned_energy(r);
  out["energy_j"] = energy.value;
  out["energy_low_j"] = energy.low;
  out["energy_high_j"] = energy.high;
  put_tariff(out, r.tariff);
  put_bill(out, r.tariff, energy);
  for (const auto& [key, forecasted] :
       {std::pair{"price_forecast", &r.price}, std::pair{"carbon_forecast", &r.carbon}}) {
    if (!*forecasted) continue;
    const std::string unit = forecasted == &r.carbon ? "_g" : "";
    out[key] = {{"cost_before" + unit, (*forecasted)->before},
                {"cost" + unit, (*forecasted)->after},
                {"moved_jobs", r.moved}};
  }
  for (const PlannedJob& p : r.plan.jobs) out["jobs"].push_back(job_json(r, p));
  for (const Refusal& refusal : r.plan.refused) {
    const bool near = refusal.device < r.problem.devices.size();
    out["refused"].push_back(
        {{"name", r.problem.jobs[refusal.job].name},
         {"reason", to_word(refusal.kind)},
         {"text", refusal.text},
         {"nearest_device", near ? Json(r.problem.devices[refusal.device].name) : Json()},
         {"energy_short_j", near ? Json(refusal.short_j) : Json()},
         {"time_late_s", near ? Json(refusal.late_s) : Json()}});
  }
  for (std::size_t d = 0; d < r.problem.devices.size(); ++d) out["devices"].push_back(device_json(r, d));
  if (r.simulation) {
    out["simulation"] = {{"draws", r.simulation->draws},
                         {"worst_battery_failed_share", r.simulation->worst_battery()},
                         {"worst_late_share", r.simulation->worst_late()},
                         {"any_failed_share", r.simulation->any_failed}};
  }
  if (r.other) out["heuristic"] = {{"value", r.other->value}, {"gap", gap_of(r)}};
  print_json(out);
}

// 6: something must be profiled before it can be planned at all; 4: something does not fit.
int exit_code_of(const Plan& plan) {
  int code = 0;
  for (const Refusal& refusal : plan.refused) {
    if (refusal.kind == RefusalKind::kNotProfiled) return exit_code(ErrorKind::kNotProfiled);
    code = exit_code(ErrorKind::kOverBudget);
  }
  return code;
}

// To cheap hours, or where nobody told prices to clean ones.
void move_jobs(Report& r, const ScheduleOptions& options) {
  if (!r.price && !r.carbon) return;
  const std::vector<PlannedJob> before = r.plan.jobs;
  r.plan = move_to_cheap_hours(r.problem, r.plan, (r.price ? r.price : r.carbon)->forecast, options);
  for (const PlannedJob& p : r.plan.jobs) {
    const auto was =
        std::find_if(before.begin(), before.end(), [&](const PlannedJob& b) { return b.job == p.job; });
    r.moved += was->device != p.device || std::abs(was->start_s - p.start_s) > 1;
  }
  for (auto* forecasted : {&r.price, &r.carbon}) {
    if (!*forecasted) continue;
    (*forecasted)->before = forecast_cost(r.problem, before, (*forecasted)->forecast);
    (*forecasted)->after = forecast_cost(r.problem, r.plan.jobs, (*forecasted)->forecast);
  }
}

void run(const ScheduleArguments& o) {
  const Solver which = o.compare ? Solver::kExact : o.which();
  const ScheduleOptions options = o.schedule(which);
  JobsFile file = read_jobs(read_json_file(o.jobs), o.jobs);
  if (which == Solver::kExact && file.problem.jobs.size() > kMostExactJobs) {
    throw bad_input(
        fmt::format("{}: the exact solver takes at most {} jobs, found {}; use --solver heuristic", o.jobs,
                    kMostExactJobs, file.problem.jobs.size()));
  }
  if (!o.slurm.empty() && o.common.json) throw bad_input("--slurm prints a shell script; leave --json away");
  Report r;
  r.tariff = o.tariff.tariff();
  if (!o.price_forecast.empty()) r.price.emplace().forecast = read_forecast(o.price_forecast);
  if (!o.carbon_forecast.empty()) r.carbon.emplace().forecast = read_forecast(o.carbon_forecast);
  r.modelled = estimate_jobs(file, {o.jobs, o.common.store, worker_options(o.common.worker)});
  r.problem = std::move(file.problem);
  r.training = std::move(file.training);
  r.plan = schedule(r.problem, options);
  move_jobs(r, options);
  if (o.compare) r.other = schedule(r.problem, o.schedule(Solver::kHeuristic));
  if (o.draws > 0) r.simulation = simulate(r.problem, r.plan.jobs, o.draws, o.seed + 1, options.errors);
  if (!o.slurm.empty())
    put(sbatch_script(r.problem, r.plan, o.slurm));
  else
    o.common.json ? print_json_plan(o, r) : print_text(o, r);
  if (const int code = exit_code_of(r.plan)) throw CLI::RuntimeError(code);
}

}  // namespace

void add_schedule(CLI::App& app) {
  auto o = std::make_shared<ScheduleArguments>();
  CLI::App* verb =
      app.add_subcommand("schedule", "Which job runs where and when: no battery dies, deadlines hold");
  verb->add_option("JOBS", o->jobs, "File of jobs and devices (docs/scheduling.md)")->required();
  verb->add_option("--risk", o->risk, "How often a battery or a deadline may fail, each: 0.01% to 50%");
  verb->add_flag("--jointly", o->jointly, "All batteries and deadlines together, instead of each");
  verb->add_option("--solver", o->solver, "auto, exact (up to 24 jobs) or heuristic")
      ->check(CLI::IsMember({"auto", "exact", "heuristic"}));
  verb->add_option("--simulate", o->draws, "Run the plan so often with energies and times drawn anew")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}));
  verb->add_option("--correlation", o->correlation, "Of errors between kinds of jobs on one device");
  verb->add_flag("--compare", o->compare, "Exact and heuristic, and how far they are apart");
  verb->add_option("--seed", o->seed, "Of the heuristic and of the simulation");
  add_tariff_options(*verb, o->tariff);
  verb->add_option("--price-forecast", o->price_forecast,
                   "CSV of hour (from now) and price of a kWh: jobs move to cheap hours");
  verb->add_option("--carbon-forecast", o->carbon_forecast,
                   "The same of grams of CO2e; decides where there are no prices");
  verb->add_option("--slurm", o->slurm,
                   "Print sbatch calls instead: what runs a job, e.g. \"./train.sh {job}\"");
  add_store_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
