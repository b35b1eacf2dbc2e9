// What a federated-learning server does before it sends a job to a device: asks what a round of training
// would take there, and where the device has not so much energy to give, sends a smaller network.
//
//   fit_to_budget STORE MODEL BATCH ITERATIONS JOULES [NETWORK.json]
//
// Exit code 0: the job fits, and the network to send is printed or written; 4: no network of this shape fits.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "network/network_json.h"
#include "network/zoo.h"
#include "prune/prune.h"

namespace {

// The device whose profile is asked: the one that was used last.
ampere::StoredDevice device_of(const ampere::Store& store) {
  const auto devices = store.devices();
  if (devices.empty())
    throw ampere::Error(ampere::ErrorKind::kNotProfiled, "no device was profiled yet; run: ampere profile");
  return devices.front();
}

int fit(const std::string& path, const std::string& model, std::int64_t batch, double iterations,
        double joules, const char* output) {
  ampere::Store store(path);
  ampere::DeviceProfile profile(store, device_of(store).id, ampere::Recipe{}.word());

  ampere::PruneOptions options;
  options.budget = {ampere::Budget::Of::kJob, joules};
  options.job_iterations = iterations;
  options.risk = 0.05;  // one round in twenty may take more
  options.search.candidates = 50'000;
  const ampere::Network network = ampere::build(ampere::parse_zoo(model));
  const ampere::PrunePlan plan = ampere::prune(profile, network, batch, options);

  const double share = plan.cost_after.parameters / plan.cost_before.parameters;
  std::printf("%s: %.3g J on average, at most %.3g J (95%%), %.0f%% of the parameters\n",
              plan.unchanged ? "fits as it is" : "fits when pruned", iterations * plan.after->energy_j.value,
              iterations * plan.bound, 100 * share);
  const std::string json = ampere::network_to_json(plan.network).dump(1);
  if (output) {
    std::ofstream(output) << json << "\n";
  } else {
    std::cout << json << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s STORE MODEL BATCH ITERATIONS JOULES [NETWORK.json]\n", argv[0]);
    return 2;
  }
  try {
    return fit(argv[1], argv[2], std::atoll(argv[3]), std::atof(argv[4]), std::atof(argv[5]),
               argc > 6 ? argv[6] : nullptr);
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return ampere::exit_code(e.kind());
  }
}
