// Jobs files: read, their networks estimated from a store, and planned, or refused.
#include <cmath>
#include <filesystem>

#include "ampere/schedule.h"
#include "mutate.h"
#include "schedule/jobs_file.h"
#include "session/jobs.h"
#include "store_for_fuzz.h"

namespace ampere::fuzz {
namespace {

// A pair of texts in braces would be a field of an object.
Json window(const char* start, const char* end) { return Json::array({start, end}); }

// Jobs whose costs come from a store, beside one that waits for another.
std::string with_networks(const std::string& network, const std::string& device) {
  const Json recipe = {{"optimizer", "sgd"}, {"threads", 1}};
  return Json{{"schema_version", 1},
              {"devices",
               {{{"name", "here"},
                 {"profile", device},
                 {"battery", {{"capacity", "10Wh"}, {"charge", "6Wh"}, {"reserve", "1Wh"}}},
                 {"charger",
                  {{"power", "5W"}, {"plugged", Json::array({window("1h", "2h"), window("3h", "never")})}}},
                 {"available", Json::array({window("0h", "9h")})},
                 {"background_power", "20mW"}},
                {{"name", "there"}}}},
              {"jobs",
               {{{"name", "a"},
                 {"network", network},
                 {"batch", kStoreBatch},
                 {"samples", 60000},
                 {"epochs", 2},
                 {"recipe", recipe},
                 {"mode", "eager"},
                 {"method", "split"},
                 {"deadline", "4h"}},
                {{"name", "b"},
                 {"network", network},
                 {"batch", kStoreBatch},
                 {"samples", 1000},
                 {"value", 2.5},
                 {"depends_on", {"a"}},
                 {"kind", "k"}},
                {{"name", "c"},
                 {"earliest", "1min"},
                 {"deadline", "5h30min"},
                 {"depends_on", {"a"}},
                 {"costs", {{"there", {{"energy", "3kJ"}, {"time", "90s"}, {"time_deviation", "2s"}}}}}}}}}
      .dump();
}

void use_jobs(const std::string& input, const JobCostOptions& costs) {
  JobsFile file = read_jobs(parse_json(input, "fuzzed"), "fuzzed");
  estimate_jobs(file, costs);
  ScheduleOptions options;
  options.work = 3000;
  options.check_draws = 100;
  options.jointly = input.size() % 2 == 1;
  const Plan plan = schedule(file.problem, options);
  if (plan.jobs.size() + plan.refused.size() != file.problem.jobs.size())
    throw Wrong{"a job is neither planned nor refused"};
  for (const PlannedJob& job : plan.jobs) {
    if (!std::isfinite(job.start_s) || !std::isfinite(job.end_s) || !std::isfinite(job.energy_j) ||
        job.end_s < job.start_s)
      throw Wrong{"a planned job's figures are none"};
  }
  if (!std::isfinite(plan.value) || !std::isfinite(plan.bound)) throw Wrong{"the plan's value is no figure"};
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  const std::string store = fuzz::scratch_path("jobs-store"),
                    network = fuzz::scratch_path("jobs-network") + ".json";
  fuzz::make_store(store, false);
  fuzz::write_bytes(network, network_to_json(fuzz::small_network()).dump());
  std::vector<std::string> seeds = {fuzz::read_bytes(std::string(AMPERE_TEST_DATA) + "/jobs.json")};
  seeds.push_back(fuzz::with_networks(network, Store(store).devices().front().id));
  JobCostOptions costs;
  costs.file = "fuzzed";
  costs.store = store;
  costs.worker.command = "false";  // a path that ends in .pt asks for a worker
  const int status =
      fuzz::fuzz_main(argc, argv,
                      {"jobs", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_json(random, seeds); },
                       [&](const std::string& input) {
                         fuzz::use_jobs(input, costs);
                         return true;
                       }});
  std::filesystem::remove(store);
  std::filesystem::remove(network);
  return status;
}
