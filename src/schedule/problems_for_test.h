// Problems that several tests schedule, and what every plan must fulfil.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ampere/schedule.h"
#include "schedule/supply.h"

namespace ampere {

inline constexpr double kHour = 3600;
inline constexpr double kWh = 3600;

inline ScheduleDevice phone(const std::string& name, double charge_j) {
  ScheduleDevice d;
  d.name = name;
  d.battery = Battery{std::max(charge_j, 20 * kWh), charge_j, 0};
  return d;
}

inline ScheduleJob job_of(const std::string& name, double value, double energy_j, double time_s,
                          std::size_t devices = 1) {
  ScheduleJob j;
  j.name = name;
  j.value = value;
  j.costs.assign(devices, JobCost{{energy_j, 0}, {time_s, 0}});
  return j;
}

// A few jobs and devices with windows, chargers, earliest starts, deadlines and, if asked, dependencies.
inline Problem random_problem(std::uint64_t seed, std::size_t jobs, std::size_t devices, bool chained,
                              double sigma = 0) {
  std::mt19937_64 random(seed);
  auto uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  Problem p;
  for (std::size_t d = 0; d < devices; ++d) {
    ScheduleDevice device = phone("device-" + std::to_string(d), uniform(4, 15) * kWh);
    device.battery->reserve_j = 2 * kWh;
    const double plugged = uniform(0, 4) * kHour;
    if (uniform(0, 1) < 0.6)
      device.charger = Charger{uniform(3, 15), {{plugged, plugged + uniform(1, 4) * kHour}}};
    if (uniform(0, 1) < 0.5) device.background_w = uniform(0, 0.3);
    if (uniform(0, 1) < 0.5) device.available = {{0, 3 * kHour}, {3.5 * kHour, 9 * kHour}};
    if (uniform(0, 1) < 0.1) device.battery.reset();
    p.devices.push_back(device);
  }
  for (std::size_t j = 0; j < jobs; ++j) {
    ScheduleJob job = job_of("job-" + std::to_string(j), uniform(1, 10), 0, 0, devices);
    job.kind = "kind-" + std::to_string(j % 3);
    const double hours = uniform(0.5, 2.5), watts = uniform(2, 6);
    for (auto& cost : job.costs) {
      const double factor = uniform(0.7, 1.4);
      cost = JobCost{{hours * watts * kWh * factor, sigma}, {hours * kHour * factor, sigma / 2}};
    }
    if (uniform(0, 1) < 0.2) job.costs[0].reset();
    if (uniform(0, 1) < 0.3) job.earliest_s = uniform(0, 2) * kHour;
    job.deadline_s = job.earliest_s + uniform(2, 8) * kHour;
    if (chained && j > 0 && uniform(0, 1) < 0.3)
      job.depends_on = {static_cast<std::size_t>(uniform(0, 0.999) * j)};
    p.jobs.push_back(job);
  }
  return p;
}

// Runs the plan by itself, with what was set aside: nothing overlaps, nothing is late, no battery below its
// reserve, nothing before what it waits for.
inline void expect_valid(const Problem& problem, const Plan& plan) {
  std::map<std::size_t, const PlannedJob*> planned;
  for (const PlannedJob& p : plan.jobs) EXPECT_TRUE(planned.emplace(p.job, &p).second) << "planned twice";
  EXPECT_EQ(plan.jobs.size() + plan.refused.size(), problem.jobs.size());
  double value = 0;
  for (std::size_t d = 0; d < problem.devices.size(); ++d) {
    const Supply supply(problem.devices[d]);
    double time = 0, level = supply.initial_j();
    for (const PlannedJob& p : plan.jobs) {
      if (p.device != d) continue;
      const ScheduleJob& job = problem.jobs[p.job];
      ASSERT_TRUE(job.costs[d].has_value()) << job.name << " cannot run there";
      value += job.value;
      EXPECT_GE(p.start_s, time - 1e-6) << job.name << " overlaps";
      EXPECT_GE(p.start_s, job.earliest_s - 1e-6);
      EXPECT_LE(p.end_s, job.deadline_s + 1e-3) << job.name << " is late";
      EXPECT_TRUE(std::any_of(
          problem.devices[d].available.begin(), problem.devices[d].available.end(),
          [&](const TimeWindow& w) { return w.start_s <= p.start_s + 1e-6 && p.end_s <= w.end_s + 1e-3; }))
          << job.name << " is outside the windows";
      for (std::size_t needed : job.depends_on) {
        ASSERT_TRUE(planned.count(needed)) << job.name << " waits for what is refused";
        EXPECT_GE(p.start_s, planned[needed]->end_s - 1e-6);
      }
      const double run = std::min(job.costs[d]->time_s.median, p.end_s - p.start_s);
      level = supply.advance(level, time, p.start_s, 0).level_j;
      const Supply::Level end = supply.advance(level, p.start_s, p.start_s + run, p.energy_j / run);
      EXPECT_TRUE(!supply.has_battery() || end.lowest_j >= supply.reserve_j() - 1e-3) << job.name;
      level = supply.advance(end.level_j, p.start_s + run, p.end_s, 0).level_j;
      time = p.end_s;
    }
  }
  EXPECT_NEAR(value, plan.value, 1e-9 * (1 + value));
}

}  // namespace ampere
