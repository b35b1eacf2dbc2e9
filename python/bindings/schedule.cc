// What is to be scheduled; plan.cc has what comes out.
#include "ampere/schedule.h"

#include "bindings.h"

namespace ampere::python {
namespace {

void bind_costs(nb::module_& m) {
  nb::class_<LogNormal>(m, "LogNormal", "A cost that is known up to a factor.")
      .def(nb::init<double, double>(), "median"_a = 0.0, "sigma"_a = 0.0)
      .def_static("from_interval", &LogNormal::from_interval, "value"_a, "high"_a)
      .def_static("from_mean", &LogNormal::from_mean, "mean"_a, "deviation"_a)
      .def_rw("median", &LogNormal::median, "joules or seconds")
      .def_rw("sigma", &LogNormal::sigma, "deviation of the logarithm; 0: known exactly")
      .def("mean", &LogNormal::mean)
      .def("quantile", &LogNormal::quantile, "probability"_a)
      .def("probability_below", &LogNormal::probability_below, "value"_a)
      .def(
          "__mul__", [](const LogNormal& l, double factor) { return l * factor; }, nb::is_operator());
  nb::class_<JobCost>(m, "JobCost")
      .def(nb::init<LogNormal, LogNormal>(), "energy_j"_a = LogNormal(), "time_s"_a = LogNormal())
      .def_rw("energy_j", &JobCost::energy_j)
      .def_rw("time_s", &JobCost::time_s);
  m.def("job_cost", &job_cost, "estimate"_a, "iterations"_a,
        "What an estimate says of a job of so many iterations.");
  nb::class_<Admission>(m, "Admission")
      .def_ro("fits", &Admission::fits)
      .def_ro("available_j", &Admission::available_j)
      .def_ro("needed_j", &Admission::needed_j, "stays under it with probability 1 - risk")
      .def_ro("margin_j", &Admission::margin_j, "available less needed; negative: short by so much")
      .def_ro("probability", &Admission::probability, "that the job ends before the battery does");
  m.def("admit", &admit, "energy_j"_a, "available_j"_a, "risk"_a, "One job and one battery: may it start?");
}

void bind_devices(nb::module_& m) {
  nb::class_<TimeWindow>(m, "TimeWindow", "Seconds from now.")
      .def(nb::init<double, double>(), "start_s"_a = 0.0, "end_s"_a = kNever)
      .def_rw("start_s", &TimeWindow::start_s)
      .def_rw("end_s", &TimeWindow::end_s);
  nb::class_<Battery>(m, "Battery")
      .def(nb::init<double, double, double>(), "capacity_j"_a, "charge_j"_a, "reserve_j"_a = 0.0)
      .def_rw("capacity_j", &Battery::capacity_j)
      .def_rw("charge_j", &Battery::charge_j, "now")
      .def_rw("reserve_j", &Battery::reserve_j, "must never fall below this");
  nb::class_<Charger>(m, "Charger")
      .def(nb::init<double, std::vector<TimeWindow>>(), "power_w"_a, "plugged"_a = std::vector<TimeWindow>())
      .def_rw("power_w", &Charger::power_w)
      .def_rw("plugged", &Charger::plugged, "in order, apart; empty: never");
  nb::class_<ScheduleDevice>(m, "ScheduleDevice")
      .def(nb::init<std::string, std::optional<Battery>, std::optional<Charger>, double,
                    std::vector<TimeWindow>>(),
           "name"_a, nb::kw_only(), "battery"_a = nb::none(), "charger"_a = nb::none(),
           "background_w"_a = 0.0, "available"_a = std::vector<TimeWindow>{{}})
      .def_rw("name", &ScheduleDevice::name)
      .def_rw("battery", &ScheduleDevice::battery, "None: it hangs on the mains")
      .def_rw("charger", &ScheduleDevice::charger)
      .def_rw("background_w", &ScheduleDevice::background_w,
              "drawn all the time by whatever else the device does")
      .def_rw("available", &ScheduleDevice::available, "in order, apart; a job runs within one of them");
}

}  // namespace

void bind_schedule(nb::module_& m) {
  bind_costs(m);
  bind_devices(m);
  nb::class_<ScheduleJob>(m, "ScheduleJob")
      .def(nb::init<std::string, std::string, double, double, double, std::vector<std::size_t>,
                    std::vector<std::optional<JobCost>>, std::vector<std::string>>(),
           "name"_a, nb::kw_only(), "kind"_a = "", "value"_a = 1.0, "earliest_s"_a = 0.0,
           "deadline_s"_a = kNever, "depends_on"_a = std::vector<std::size_t>(),
           "costs"_a = std::vector<std::optional<JobCost>>(), "why_not"_a = std::vector<std::string>())
      .def_rw("name", &ScheduleJob::name)
      .def_rw("kind", &ScheduleJob::kind,
              "jobs of one kind err together on a device; empty: a kind of its own")
      .def_rw("value", &ScheduleJob::value)
      .def_rw("earliest_s", &ScheduleJob::earliest_s)
      .def_rw("deadline_s", &ScheduleJob::deadline_s)
      .def_rw("depends_on", &ScheduleJob::depends_on, "jobs that must have ended before it starts, by index")
      .def_rw("costs", &ScheduleJob::costs, "by device; None: cannot run there, or nobody knows")
      .def_rw("why_not", &ScheduleJob::why_not, "by device, for absent costs: one clause");
  nb::class_<Problem>(m, "Problem",
                      "Jobs with what they cost on each device, and devices with what they have.")
      .def(nb::init<std::vector<ScheduleDevice>, std::vector<ScheduleJob>>(), "devices"_a, "jobs"_a)
      .def_rw("devices", &Problem::devices)
      .def_rw("jobs", &Problem::jobs);
}

}  // namespace ampere::python
