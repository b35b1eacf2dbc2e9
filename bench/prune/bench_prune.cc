// How fast a search over channels is: a million candidates of resnet50 at half its energy, tables included.
// The profile is that of a synthetic device with as many points as a real one has.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <random>

#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"
#include "prune/prune.h"

namespace {

using namespace ampere;

constexpr std::int64_t kBatch = 32;

class Fixture {
 public:
  Fixture()
      : path_(file()),
        store_(path_),
        profile_(store_, store_.add_device({{"name", "synthetic"}}), "sgd"),
        network_(build(parse_zoo("resnet50"))) {
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 0.02);
    SyntheticDevice device;
    ProfileOptions options;
    options.where.guided.stop_deviation = 1e-9;  // to the point limit
    run_profile(
        profile_, split_plans(parse_layers(network_, kBatch)),
        [&](const MeasureRequest& r) {
          Measurement m = device(r);
          const double factor = std::exp(noise(random));
          m.time_s *= factor;
          *m.energy_j *= factor;
          return m;
        },
        options);
  }
  ~Fixture() { std::filesystem::remove(path_); }

  DeviceProfile& profile() { return profile_; }
  const Network& network() const { return network_; }

 private:
  static std::string file() {
    const std::string path = std::filesystem::temp_directory_path() / "ampere_bench_prune.db";
    std::filesystem::remove(path);
    return path;
  }
  std::string path_;
  Store store_;
  DeviceProfile profile_;
  Network network_;
};

void prune_resnet50(benchmark::State& state) {
  static Fixture fixture;
  PruneOptions options;
  options.search.kind = state.range(0) == 0 ? SearchKind::kRandom : SearchKind::kEvolve;
  options.search.candidates = 1'000'000;
  double searching = 0;
  for (auto _ : state) searching += prune(fixture.profile(), fixture.network(), kBatch, options).seconds;
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["search_s"] = searching / rounds;
  state.counters["candidates/s"] = static_cast<double>(options.search.candidates) * rounds / searching;
}
BENCHMARK(prune_resnet50)->ArgName("evolve")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
