// Plans: what scheduling gives. schedule.cc has what it takes.
#include "ampere/schedule.h"
#include "bindings.h"

namespace ampere::python {
namespace {

ScheduleOptions options_of(double risk, bool jointly, const std::string& solver, std::uint64_t seed) {
  ScheduleOptions options;
  options.risk = risk;
  options.jointly = jointly;
  options.solver = from_word<Solver, 3>(
      "solver", solver,
      {{{"auto", Solver::kAuto}, {"exact", Solver::kExact}, {"heuristic", Solver::kHeuristic}}});
  options.seed = seed;
  return options;
}

void bind_results(nb::module_& m) {
  nb::class_<PlannedJob>(m, "PlannedJob")
      .def_ro("job", &PlannedJob::job, "index into Problem.jobs")
      .def_ro("device", &PlannedJob::device, "index into Problem.devices")
      .def_ro("start_s", &PlannedJob::start_s)
      .def_ro("end_s", &PlannedJob::end_s, "of the time set aside for it")
      .def_ro("energy_j", &PlannedJob::energy_j, "set aside for it")
      .def_ro("battery_lowest_j", &PlannedJob::battery_lowest_j, "until its end, if it takes all of that")
      .def_ro("battery_after_j", &PlannedJob::battery_after_j);
  nb::class_<Refusal>(m, "Refusal")
      .def_ro("job", &Refusal::job)
      .def_prop_ro(
          "kind", [](const Refusal& r) { return to_word(r.kind); },
          "\"not_profiled\", \"deadline\", \"battery\", \"outbid\", \"dependency\"")
      .def_prop_ro(
          "device",
          [](const Refusal& r) {
            return r.device == static_cast<std::size_t>(-1) ? std::nullopt : std::optional(r.device);
          },
          "where it came nearest; None: nowhere")
      .def_ro("short_j", &Refusal::short_j, "the battery is short by this there")
      .def_ro("late_s", &Refusal::late_s, "it would be late by this there")
      .def_ro("text", &Refusal::text);
  nb::class_<Simulation>(m, "Simulation")
      .def_ro("draws", &Simulation::draws)
      .def_ro("battery_failed", &Simulation::battery_failed, "by device: share of draws below its reserve")
      .def_ro("late", &Simulation::late, "by job: share of draws in which it ended too late")
      .def_ro("any_failed", &Simulation::any_failed)
      .def("worst_battery", &Simulation::worst_battery)
      .def("worst_late", &Simulation::worst_late);
  nb::class_<Plan>(m, "Plan")
      .def_ro("jobs", &Plan::jobs, "by device, then start")
      .def_ro("refused", &Plan::refused, "in the order of the problem")
      .def_ro("value", &Plan::value, "of the jobs planned")
      .def_ro("value_asked", &Plan::value_asked, "of all")
      .def_ro("bound", &Plan::bound, "no plan at this risk is worth more")
      .def_ro("optimal", &Plan::optimal, "proven")
      .def_ro("exact", &Plan::exact, "by the exact solver")
      .def_ro("planning_risk", &Plan::planning_risk, "by device")
      .def_ro("check", &Plan::check, "the draws that the plan was tried in")
      .def_ro("holds", &Plan::holds, "in those, what was asked for held as often as asked for");
  nb::class_<ScheduledJobs>(m, "ScheduledJobs")
      .def_ro("problem", &ScheduledJobs::problem, "as read, with costs estimated from the devices' profiles")
      .def_ro("plan", &ScheduledJobs::plan)
      .def_ro("modelled", &ScheduledJobs::modelled, "some energy is modelled, not measured");
}

}  // namespace

void bind_plan(nb::module_& m) {
  bind_results(m);
  m.def(
      "schedule",
      [](const Problem& problem, double risk, bool jointly, const std::string& solver, std::uint64_t seed) {
        const ScheduleOptions options = options_of(risk, jointly, solver, seed);
        return unlocked([&] { return schedule(problem, options); });
      },
      "problem"_a, nb::kw_only(), "risk"_a = 0.05, "jointly"_a = false, "solver"_a = "auto", "seed"_a = 1,
      "Which job runs where and when. Jobs that do not fit are refused in the plan, with why; that is no "
      "error.");
  m.def(
      "simulate",
      [](const Problem& problem, const std::vector<PlannedJob>& plan, std::size_t draws, std::uint64_t seed) {
        return unlocked([&] { return simulate(problem, plan, draws, seed); });
      },
      "problem"_a, "plan"_a, "draws"_a = 4000, "seed"_a = 1,
      "Runs a plan many times with energies and times drawn anew, and counts what went wrong.");
  m.def(
      "schedule_jobs_file",
      [](const Path& path, const Path& store, const std::string& worker, double risk, bool jointly,
         const std::string& solver, std::uint64_t seed) {
        const JobsFileOptions options{store.string(), worker, options_of(risk, jointly, solver, seed)};
        return unlocked([&] { return schedule_jobs_file(path.string(), options); });
      },
      "path"_a, nb::kw_only(), "store"_a = "", "worker"_a = "", "risk"_a = 0.05, "jointly"_a = false,
      "solver"_a = "auto", "seed"_a = 1, "What a jobs file asks for.");
}

}  // namespace ampere::python
