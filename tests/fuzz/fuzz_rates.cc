// Prices: as people write them on the command line, and by the hour in files; jobs are planned by them, or
// they are refused.
#include <cmath>

#include "ampere/schedule.h"
#include "ampere/tariff.h"
#include "base/error.h"
#include "mutate.h"

namespace ampere::fuzz {
namespace {

const std::vector<std::string> kSeeds = {"hour,price\n0,0.31\n1,0.28\n2.5,-0.01\n",
                                         "# grams\n0,56\n1,58\n7,40\n", "0,1\n", "0,0.30\r\n24,0.25\r\n"};
const std::vector<std::string> kRates = {"0.30/kWh", "0.30EUR/kWh", "$0.12/kWh", "95 EUR/MWh",
                                         "380g/kWh", "0.38 kg/kWh", "FR"};

void require(bool holds, const char* what) {
  if (!holds) throw Wrong{what};
}

Problem two_jobs() {
  Problem p;
  p.devices.resize(1);
  p.devices[0].name = "desktop";
  for (const char* name : {"a", "b"}) {
    ScheduleJob job;
    job.name = name;
    job.deadline_s = 36000;
    job.costs = {JobCost{{3.6e6, 0}, {3000, 0}}};
    p.jobs.push_back(job);
  }
  return p;
}

void use_rates(const std::string& input) {
  for (const bool price : {true, false}) {
    takes([&] {
      const Bill bill = bill_of(price ? tariff_of(input, "") : tariff_of("", input), {7.2e6, 3.6e6, 9e6});
      const std::optional<Interval>& told = price ? bill.cost : bill.carbon_g;
      require(!told || (std::isfinite(told->value) && told->low <= told->high), "a bill that cannot be");
    });
  }
  const std::string path = scratch_path("forecast.csv");
  write_bytes(path, input);
  const Forecast forecast = read_forecast(path);
  const Problem p = two_jobs();
  ScheduleOptions options;
  options.work = 3000;
  options.check_draws = 100;
  const Plan plan = schedule(p, options);
  const Plan moved = move_to_cheap_hours(p, plan, forecast, options);
  const double before = forecast_cost(p, plan.jobs, forecast), after = forecast_cost(p, moved.jobs, forecast);
  require(std::isfinite(after) && after <= before, "a plan that is dearer than before");
  for (const PlannedJob& job : moved.jobs)
    require(job.start_s >= 0 && job.end_s <= 36000.01, "a job that is late");
}

std::string spoiled(Random& random) {
  return spoiled_text(random, random.one_in(4) ? random.of(kRates) : random.of(kSeeds));
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  return fuzz::fuzz_main(argc, argv, {"rates", fuzz::kSeeds, fuzz::spoiled, [](const std::string& input) {
                                        fuzz::use_rates(input);
                                        return true;
                                      }});
}
