// How long a process takes for its first answer about a network that nobody measured, and for those after it:
// by the clock, and in processor seconds, since others may run beside. What comes first is the store's
// points, read and described as calls, and the one model fitted to them (docs/one_model.md).
//
//   first_answer STORE.db RECIPE NETWORK@BATCH...
//   first_answer h200.db sgd-default-t1 resnet18@32 resnet50@16 transformer@16
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>

#include "base/error.h"
#include "estimate/estimate.h"
#include "network/zoo.h"

namespace ampere {
namespace {

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void run(const std::string& path, const std::string& recipe, int count, char** networks) {
  Store store = Store::to_read(path);
  const std::vector<StoredDevice> devices = store.devices();
  if (devices.empty()) throw bad_input(path + " has no device");
  const DeviceProfile profile(store, devices.front().id, recipe);
  std::printf("| network | energy of a replayed step | time | answer in | processor |\n");
  std::printf("| --- | --- | --- | --- | --- |\n");
  for (int i = 0; i < count; ++i) {
    const std::string label = networks[i];
    const std::size_t at = label.find('@');
    if (at == std::string::npos) throw bad_input("a network is NAME@BATCH, found " + label);
    const Network network = build(parse_zoo(label.substr(0, at)));
    const double begin = clock_s(), computing = processor_s();
    const Estimate e = estimate_network(profile, find_method(kSplit), network,
                                        std::atoll(label.c_str() + at + 1), MeasureMode::kReplay);
    std::printf("| %s | %.8g J | %.8g s | %.3f s | %.3f s |\n", label.c_str(), e.energy_j.value,
                e.time_s.value, clock_s() - begin, processor_s() - computing);
  }
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: first_answer STORE.db RECIPE NETWORK@BATCH...\n");
    return 2;
  }
  try {
    ampere::run(argv[1], argv[2], argc - 3, argv + 3);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "first_answer: %s\n", e.what());
    return 1;
  }
}
