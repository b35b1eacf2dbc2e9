#include "ampere/schedule.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "schedule/problems_for_test.h"
#include "schedule/sequence.h"

namespace ampere {
namespace {

ScheduleOptions options_of(Solver solver) {
  ScheduleOptions o;
  o.solver = solver;
  o.work = 100'000;
  o.check_draws = 200;
  return o;
}

std::string refused_because(const Problem& problem) {
  try {
    check(problem);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kBadInput);
    return e.what();
  }
  return "";
}

TEST(Problem, RefusesWhatCannotBe) {
  Problem good;
  good.devices = {phone("a", 10 * kWh), phone("b", 10 * kWh)};
  good.jobs = {job_of("x", 1, kWh, kHour, 2), job_of("y", 1, kWh, kHour, 2), job_of("z", 1, kWh, kHour, 2)};
  EXPECT_EQ(refused_because(good), "");
  const std::pair<std::function<void(Problem&)>, const char*> cases[] = {
      {[](Problem& p) { p.devices.clear(); }, "no device"},
      {[](Problem& p) { p.devices[1].name = "a"; }, "device \"a\" is there twice"},
      {[](Problem& p) { p.jobs[1].name = "x"; }, "job \"x\" is there twice"},
      {[](Problem& p) { p.devices[0].battery->charge_j = -1; }, "charge"},
      {[](Problem& p) { p.devices[0].battery->capacity_j = -1; }, "capacity must be positive"},
      {[](Problem& p) { p.devices[0].battery->reserve_j = 1e9; }, "reserve"},
      {[](Problem& p) { p.devices[0].battery->charge_j = NAN; }, "charge"},
      {[](Problem& p) {
         p.devices[0].available = {{5, 3}};
       },
       "must end after"},
      {[](Problem& p) {
         p.devices[0].available = {{5, 9}, {8, 10}};
       },
       "must not overlap"},
      {[](Problem& p) { p.devices[0].background_w = -1; }, "background"},
      {[](Problem& p) { p.jobs[0].value = NAN; }, "value"},
      {[](Problem& p) { p.jobs[0].value = 1e25; }, "job \"x\": the value must be at most 1e9"},
      {[](Problem& p) { p.jobs[0].deadline_s = 0; }, "deadline"},
      {[](Problem& p) { p.jobs[0].deadline_s = 1e300; }, "job \"x\": the deadline must be at most 36500d"},
      {[](Problem& p) { p.jobs[0].earliest_s = 1e300; }, "earliest"},
      {[](Problem& p) { p.jobs[0].costs[1]->time_s.median = 3.6e303; },
       "job \"x\": the time on device \"b\" must be at most 36500d (100 years)"},
      {[](Problem& p) { p.jobs[0].costs[0]->time_s.median = 1e-300; },
       "the time on device \"a\" must be at least"},
      {[](Problem& p) { p.jobs[0].costs[1]->energy_j.median = 1e16; },
       "the energy on device \"b\" must be at most"},
      {[](Problem& p) { p.devices[0].battery->capacity_j = 1e300; }, "device \"a\": the battery's capacity"},
      {[](Problem& p) { p.devices[0].background_w = 1e300; }, "background power must be at most"},
      {[](Problem& p) {
         p.devices[0].available = {{0, 1e300}};
       },
       "end of a window must be at most"},
      {[](Problem& p) { p.jobs[0].costs.pop_back(); }, "one cost per device"},
      {[](Problem& p) { p.jobs[0].costs[0]->energy_j.median = INFINITY; }, "finite"},
      {[](Problem& p) { p.jobs[0].depends_on = {0}; }, "\"x\" needs \"x\""},
      {[](Problem& p) { p.jobs[0].depends_on = {7}; }, "not there"},
      {[](Problem& p) {
         p.jobs[0].depends_on = {2};
         p.jobs[2].depends_on = {1};
         p.jobs[1].depends_on = {0};
       },
       "\"x\" needs \"z\" needs \"y\" needs \"x\""},
  };
  for (const auto& [spoil, says] : cases) {
    Problem bad = good;
    spoil(bad);
    EXPECT_NE(refused_because(bad).find(says), std::string::npos) << says << ": " << refused_because(bad);
  }
}

// Density alone would take the small job and leave no room for the two that are worth more together.
TEST(Schedule, ExactTakesTheMostValue) {
  Problem p;
  p.devices = {phone("a", 10 * kWh)};
  p.jobs = {job_of("dense", 7, 6 * kWh, kHour), job_of("left", 5, 5 * kWh, kHour),
            job_of("right", 5, 5 * kWh, kHour)};
  for (Solver solver : {Solver::kExact, Solver::kHeuristic}) {
    const Plan plan = schedule(p, options_of(solver));
    expect_valid(p, plan);
    EXPECT_DOUBLE_EQ(plan.value, 10);
    ASSERT_EQ(plan.refused.size(), 1u);
    EXPECT_EQ(plan.refused[0].kind, RefusalKind::kOutbid);
    EXPECT_NE(plan.refused[0].text.find("battery short by 6.00 Wh on a"), std::string::npos)
        << plan.refused[0].text;
  }
}

// Every assignment and every order: slow, and surely right.
double best_by_force(const Problem& p, double risk) {
  const Workshop w(p, std::vector<double>(p.devices.size(), risk));
  double best = 0;
  std::vector<Assigned> set;
  std::function<void(std::size_t)> choose = [&](std::size_t j) {
    if (j == p.jobs.size()) {
      double value = 0;
      for (const Assigned& a : set) value += p.jobs[a.job].value;
      if (value > best && joint_sequence_of(w, set).answer == Answer::kYes) best = value;
      return;
    }
    choose(j + 1);
    for (std::size_t d = 0; d < p.devices.size(); ++d) {
      if (!w.demand(j, d).possible) continue;
      set.push_back({j, d});
      choose(j + 1);
      set.pop_back();
    }
  };
  choose(0);
  return best;
}

TEST(Schedule, ExactAgreesWithTryingEverything) {
  for (bool chained : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const Problem p = random_problem(seed, 5, 2, chained);
      const Plan plan = schedule(p, options_of(Solver::kExact));
      expect_valid(p, plan);
      EXPECT_TRUE(plan.optimal);
      EXPECT_NEAR(plan.value, best_by_force(p, 0.05), 1e-9) << "seed " << seed << (chained ? " chained" : "");
    }
  }
}

TEST(Schedule, HeuristicPlansAreValidAndNeverBetterThanExact) {
  double exact = 0, heuristic = 0;
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const Problem p = random_problem(seed, 9, 3, seed % 2 == 0, 0.1);
    const Plan best = schedule(p, options_of(Solver::kExact));
    const Plan quick = schedule(p, options_of(Solver::kHeuristic));
    expect_valid(p, best);
    expect_valid(p, quick);
    EXPECT_FALSE(quick.exact);
    // Repairs after simulated failures may differ; apart from them nothing beats the exact plan.
    EXPECT_TRUE(best.planning_risk != quick.planning_risk || quick.value <= best.value * (1 + 1e-9));
    exact += best.value;
    heuristic += quick.value;
  }
  EXPECT_GT(heuristic, 0.95 * exact);
}

TEST(Schedule, LargePlansAreValidAndTheSameEveryTime) {
  const Problem p = random_problem(7, 150, 12, true, 0.1);
  ScheduleOptions o = options_of(Solver::kAuto);
  const Plan plan = schedule(p, o), again = schedule(p, o);
  expect_valid(p, plan);
  EXPECT_GT(plan.jobs.size(), 20u);
  ASSERT_EQ(plan.jobs.size(), again.jobs.size());
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    EXPECT_EQ(plan.jobs[i].job, again.jobs[i].job);
    EXPECT_EQ(plan.jobs[i].start_s, again.jobs[i].start_s);
  }
  EXPECT_THROW(schedule(p, options_of(Solver::kExact)), Error);
}

TEST(Schedule, TellsWhyJobsAreRefused) {
  Problem p;
  p.devices = {phone("a", 10 * kWh), phone("b", 4 * kWh)};
  p.devices[0].available = {{0, 3 * kHour}};
  ScheduleJob hungry = job_of("hungry", 1, 12 * kWh, kHour, 2), slow = job_of("slow", 1, kWh, 2 * kHour, 2);
  ScheduleJob stranger = job_of("stranger", 1, 1, 1, 2), child = job_of("child", 1, 1, 1, 2);
  slow.deadline_s = kHour;
  stranger.costs = {std::nullopt, std::nullopt};
  stranger.why_not = {"not profiled", "not allowed"};
  child.depends_on = {2};
  p.jobs = {hungry, slow, stranger, child, job_of("fine", 1, kWh, kHour, 2)};
  const Plan plan = schedule(p, options_of(Solver::kAuto));
  ASSERT_EQ(plan.refused.size(), 4u);
  const std::pair<RefusalKind, const char*> expected[] = {
      {RefusalKind::kBattery,
       "battery short by 2.00 Wh on a, the nearest of 2 devices: it needs 12.0 Wh there"},
      {RefusalKind::kDeadline,
       "deadline missed by 60.0 min on a, the nearest of 2 devices: it needs 2.0 h there"},
      {RefusalKind::kNotProfiled, "not profiled on a; not allowed on b"},
      {RefusalKind::kDependency, "it waits for stranger, which is refused"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.refused[i].kind, expected[i].first);
    EXPECT_EQ(plan.refused[i].text, expected[i].second);
  }
  EXPECT_NEAR(plan.refused[0].short_j, 2 * kWh, 1);
  EXPECT_NEAR(plan.refused[1].late_s, kHour, 1);
}

TEST(Schedule, RefusesARiskThatIsNone) {
  const Problem p = random_problem(1, 2, 1, false);
  for (double risk : {0.0, -1.0, 0.9, static_cast<double>(NAN)}) {
    ScheduleOptions o;
    o.risk = risk;
    EXPECT_THROW(schedule(p, o), Error);
  }
}

// One kind on one device, and a battery that holds exactly what was set aside: it fails just as often as
// asked.
TEST(Simulate, FailsAsOftenAsTheRiskSays) {
  Problem p;
  p.devices = {phone("a", 0)};
  for (int i = 0; i < 5; ++i) {
    ScheduleJob j = job_of("job-" + std::to_string(i), 1, 0, 0);
    j.kind = "same";
    j.costs[0] = JobCost{{kWh, 0.2}, {kHour, 0.1}};
    p.jobs.push_back(j);
  }
  p.devices[0].battery->charge_j = 5 * p.jobs[0].costs[0]->energy_j.quantile(0.95) + 1;
  std::vector<PlannedJob> plan;
  for (std::size_t i = 0; i < 5; ++i) plan.push_back({i, 0, 2 * kHour * static_cast<double>(i), 0, 0, 0, 0});
  EXPECT_NEAR(simulate(p, plan, 20'000, 3).battery_failed[0], 0.05, 0.006);
  // Of different kinds they partly make up for each other.
  for (ScheduleJob& j : p.jobs) j.kind = j.name;
  EXPECT_LT(simulate(p, plan, 20'000, 3).battery_failed[0], 0.045);
  EXPECT_LT(simulate(p, plan, 20'000, 3, {0, 0.7}).battery_failed[0], 0.005);
}

TEST(Simulate, PlansHoldAtTheChosenRisk) {
  for (double correlation : {0.0, 0.5, 1.0}) {
    const Problem p = random_problem(11, 60, 8, true, 0.15);
    ScheduleOptions o = options_of(Solver::kHeuristic);
    o.check_draws = 4000;
    o.errors.between_kinds = correlation;
    const Plan plan = schedule(p, o);
    const Simulation s = simulate(p, plan.jobs, 10'000, 99, o.errors);
    EXPECT_LE(s.worst_battery(), 0.05) << correlation;
    EXPECT_LE(s.worst_late(), 0.05) << correlation;
  }
}

TEST(Admission, YesOrNoWithTheMargin) {
  const LogNormal energy{10 * kWh, 0.1};
  const Admission yes = admit(energy, 15 * kWh, 0.05), no = admit(energy, 10 * kWh, 0.05);
  EXPECT_TRUE(yes.fits);
  EXPECT_NEAR(yes.margin_j, 15 * kWh - energy.quantile(0.95), 1e-6);
  EXPECT_GT(yes.probability, 0.999);
  EXPECT_FALSE(no.fits);
  EXPECT_LT(no.margin_j, 0);
  EXPECT_NEAR(no.probability, 0.5, 1e-9);
  EXPECT_THROW(admit(energy, -1, 0.05), Error);
  EXPECT_THROW(admit(energy, NAN, 0.05), Error);
  EXPECT_THROW(admit(energy, 1, 0), Error);
  EXPECT_DOUBLE_EQ(iterations_of(101, 10, 3), 33);
  EXPECT_THROW(iterations_of(0, 10, 3), Error);
}

}  // namespace
}  // namespace ampere
