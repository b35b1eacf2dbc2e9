// Plans that follow prices: never dearer, always in time, and with few jobs as cheap as trying everything
// finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>

#include "base/error.h"
#include "schedule/problems_for_test.h"

namespace ampere {
namespace {

using ::testing::HasSubstr;

Forecast by_hour(const std::vector<double>& prices) {
  Forecast f;
  for (std::size_t i = 0; i < prices.size(); ++i)
    f.rates.push_back({kHour * static_cast<double>(i), prices[i]});
  f.end_s = kHour * static_cast<double>(prices.size());
  return f;
}

ScheduleDevice mains(const std::string& name) {
  ScheduleDevice d;
  d.name = name;
  return d;
}

TEST(Forecast, MeansOverTime) {
  const Forecast f = by_hour({1, 3, 2});
  EXPECT_NEAR(f.mean_per_kwh(0, kHour), 1, 1e-12);
  EXPECT_NEAR(f.mean_per_kwh(0.5 * kHour, 1.5 * kHour), 2, 1e-12);
  EXPECT_NEAR(f.mean_per_kwh(2.5 * kHour, 3.5 * kHour), 2.5,
              1e-12);  // what nobody told counts as the dearest
  EXPECT_NEAR(f.mean_per_kwh(9 * kHour, 10 * kHour), 3, 1e-12);
}

TEST(Forecast, IsReadAndRefused) {
  const std::string path = ::testing::TempDir() + "forecast.csv";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return read_forecast(path);
  };
  const Forecast f = read("hour,price\n# today\n0,0.31\r\n1, 0.28\n3,-0.01\n");
  ASSERT_EQ(f.rates.size(), 3u);
  EXPECT_NEAR(f.rates[2].per_kwh, -0.01, 1e-12);
  EXPECT_NEAR(f.rates[2].from_s, 3 * kHour, 1e-9);
  EXPECT_NEAR(f.end_s, 4 * kHour, 1e-9);
  for (const char* text : {"", "hour,price\n", "0\n", "0,a\n", "1,2\n", "0,1\n0,2\n", "0,1\n-1,2\n",
                           "0,nan\n", "0,1e99\n", "a,1\nb,2\n"})
    EXPECT_THROW(read(text), Error) << text;
  EXPECT_THROW(read_forecast("/no/such/file.csv"), Error);
  EXPECT_THROW(read_forecast("/dev/zero"), Error);
}

TEST(CheapHours, WaitsForTheCheapHour) {
  Problem p;
  p.devices = {mains("one")};
  p.jobs = {job_of("a", 1, 3.6e6, kHour), job_of("b", 1, 3.6e6, kHour)};
  p.jobs[1].deadline_s = 3 * kHour;
  const Plan plan = schedule(p);
  const Forecast f = by_hour({0.4, 0.2, 0.3, 0.1, 0.5});
  const Plan moved = move_to_cheap_hours(p, plan, f);
  expect_valid(p, moved);
  EXPECT_NEAR(forecast_cost(p, plan.jobs, f), 0.6, 1e-9);
  EXPECT_NEAR(forecast_cost(p, moved.jobs, f), 0.3, 1e-9);  // b in hour 1, a in hour 3
  EXPECT_TRUE(moved.holds);
}

// Trying everything: every assignment, every order, starts on a grid that holds all hours and lengths.
double cheapest(const Problem& p, const Forecast& f, double step_s, double last_s) {
  double best = 1e300;
  std::vector<PlannedJob> planned;
  std::function<void(std::size_t)> place = [&](std::size_t j) {
    if (j == p.jobs.size()) {
      best = std::min(best, forecast_cost(p, planned, f));
      return;
    }
    for (std::size_t d = 0; d < p.devices.size(); ++d) {
      if (!p.jobs[j].costs[d]) continue;
      const double length = p.jobs[j].costs[d]->time_s.median;
      for (double s = p.jobs[j].earliest_s; s + length <= std::min(p.jobs[j].deadline_s, last_s) + 1e-6;
           s += step_s) {
        const bool open = std::any_of(
            p.devices[d].available.begin(), p.devices[d].available.end(),
            [&](const TimeWindow& w) { return s >= w.start_s - 1e-6 && s + length <= w.end_s + 1e-6; });
        const bool free = std::none_of(planned.begin(), planned.end(), [&](const PlannedJob& o) {
          return o.device == d && s < o.end_s - 1e-6 && o.start_s < s + length - 1e-6;
        });
        if (!open || !free) continue;
        planned.push_back({j, d, s, s + length, 0, 0, 0});
        place(j + 1);
        planned.pop_back();
      }
    }
  };
  place(0);
  return best;
}

TEST(CheapHours, AreTheCheapestThatThereAre) {
  std::mt19937 random(7);
  const auto uniform = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  const double step = kHour / 2;
  for (int round = 0; round < 30; ++round) {
    Problem p;
    p.devices = {mains("one"), mains("two")};
    if (round % 3 == 0) p.devices[0].available = {{0, 2 * kHour}, {3 * kHour, 8 * kHour}};
    for (int j = 0; j < 3; ++j) {
      ScheduleJob job = job_of("job-" + std::to_string(j), 1, 1e6 * uniform(1, 5), step * uniform(1, 4), 2);
      job.costs[1]->energy_j.median *= 0.5 * uniform(1, 3);
      job.earliest_s = step * uniform(0, 2);
      job.deadline_s = step * uniform(12, 16);
      if (uniform(0, 4) == 0) job.costs[1].reset();
      p.jobs.push_back(job);
    }
    std::vector<double> prices(8);
    for (double& price : prices) price = 0.1 * uniform(-1, 6);
    const Forecast f = by_hour(prices);
    const Plan plan = schedule(p);
    ASSERT_EQ(plan.jobs.size(), 3u);
    const Plan moved = move_to_cheap_hours(p, plan, f);
    expect_valid(p, moved);
    const double truth = cheapest(p, f, step, 8 * kHour);
    EXPECT_NEAR(forecast_cost(p, moved.jobs, f), truth, 1e-9) << "round " << round;
  }
}

TEST(CheapHours, AreNeverWorse) {
  std::mt19937 random(11);
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const Problem p = random_problem(seed, 4 + seed % 9, 2 + seed % 3, seed % 2 == 0, 0.05);
    std::vector<double> prices(12);
    for (double& price : prices) price = std::uniform_real_distribution<>(0.05, 0.5)(random);
    const Forecast f = by_hour(prices);
    ScheduleOptions options;
    options.check_draws = 1000;
    options.solver = Solver::kHeuristic;
    options.work = 20000;
    const Plan plan = schedule(p, options);
    const Plan moved = move_to_cheap_hours(p, plan, f, options);
    expect_valid(p, moved);
    EXPECT_EQ(moved.jobs.size(), plan.jobs.size());
    EXPECT_NEAR(moved.value, plan.value, 1e-9);
    EXPECT_LE(forecast_cost(p, moved.jobs, f), forecast_cost(p, plan.jobs, f) + 1e-12);
    EXPECT_TRUE(moved.holds || !plan.holds);
  }
}

}  // namespace
}  // namespace ampere
