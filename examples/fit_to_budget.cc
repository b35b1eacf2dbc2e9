// What a federated-learning server does before it sends a job to a device: asks what a round of training
// would take there, and where the device has not so much energy to give, sends a smaller network.
//
//   fit_to_budget STORE MODEL BATCH ITERATIONS JOULES [NETWORK.json]
//
// Exit code 0: the job fits, and the network to send is printed or written; 4: no network of this shape fits.
#include <ampere/ampere.h>

#include <cstdio>
#include <cstdlib>

namespace {

void fit(const std::string& store, const std::string& name, std::int64_t batch, double iterations,
         double joules, const char* output) {
  ampere::Device device = ampere::Device::stored(store);  // the one that was used last
  const ampere::Model model = ampere::Model::load(name);
  const ampere::Pruned pruned = ampere::prune(device, model, {.batch = batch},
                                              {.budget = {ampere::Budget::Of::kJob, joules},
                                               .job_iterations = iterations,
                                               .risk = 0.05,  // one round in twenty may take more
                                               .search = {.candidates = 50'000}});

  std::printf("%s: %.3g J on average, at most %.3g J (95%%), %.0f%% of the parameters\n",
              pruned.unchanged ? "fits as it is" : "fits when pruned",
              iterations * pruned.after->energy_j.value, iterations * pruned.bound,
              100 * pruned.parameters_after / pruned.parameters_before);
  if (output) {
    pruned.model.save(output);
  } else {
    std::printf("%s\n", pruned.model.to_json().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s STORE MODEL BATCH ITERATIONS JOULES [NETWORK.json]\n", argv[0]);
    return 2;
  }
  try {
    fit(argv[1], argv[2], std::atoll(argv[3]), std::atof(argv[4]), std::atof(argv[5]),
        argc > 6 ? argv[6] : nullptr);
    return 0;
  } catch (const ampere::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return ampere::exit_code(e.kind());
  }
}
