// What a federated-learning server asks before a round: which clients can train without emptying their
// batteries, and when? Energies and times come from the clients themselves here; job_cost() makes them from
// an estimate.
//
//   federated_round [RISK]      the risk of each battery and each deadline, 0.05 unless given
#include <ampere/schedule.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace ampere;

constexpr double kWh = 3600;
constexpr double kMinute = 60;

ScheduleDevice client(const char* name, double charge_wh, double reserve_wh) {
  ScheduleDevice d;
  d.name = name;
  d.battery = Battery{15 * kWh, charge_wh * kWh, reserve_wh * kWh};
  return d;
}

// A client trains on its own data, so its job can run nowhere else.
ScheduleJob update_of(const Problem& problem, std::size_t at, double energy_wh, double minutes) {
  ScheduleJob j;
  j.name = "update-" + problem.devices[at].name;
  j.kind = "resnet18@b16";
  j.deadline_s = 90 * kMinute;
  j.costs.resize(problem.devices.size());
  j.costs[at] = JobCost{LogNormal::from_mean(energy_wh * kWh, 0.1 * energy_wh * kWh),
                        LogNormal::from_mean(minutes * kMinute, 0.05 * minutes * kMinute)};
  return j;
}

void run(double risk) {
  Problem round;
  round.devices = {client("anna", 9, 3), client("ben", 4, 3), client("carla", 4, 3)};
  round.devices[2].charger = Charger{10, {{20 * kMinute, 80 * kMinute}}};
  for (std::size_t i = 0; i < round.devices.size(); ++i) round.jobs.push_back(update_of(round, i, 3.5, 40));

  // One client at a time, as it is now: yes or no.
  for (std::size_t i = 0; i < round.devices.size(); ++i) {
    const Battery& battery = *round.devices[i].battery;
    const Admission now = admit(round.jobs[i].costs[i]->energy_j, battery.charge_j - battery.reserve_j, risk);
    std::printf("%-6s %s now: margin %+.1f Wh, holds with probability %.3f\n", round.devices[i].name.c_str(),
                now.fits ? "may start" : "must not start", now.margin_j / kWh, now.probability);
  }

  // The round: who can wait for a charger, and who is left out.
  ScheduleOptions options;
  options.risk = risk;
  const Plan plan = schedule(round, options);
  for (const PlannedJob& p : plan.jobs) {
    std::printf("%-12s starts after %.0f min, ends by %.0f min\n", round.jobs[p.job].name.c_str(),
                p.start_s / kMinute, p.end_s / kMinute);
  }
  for (const Refusal& r : plan.refused)
    std::printf("%-12s is left out: %s\n", round.jobs[r.job].name.c_str(), r.text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atof(argv[1]) : 0.05);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "federated_round: %s\n", e.what());
    return 1;
  }
}
