// How fast estimates are once the processes are fitted: a whole network with its interval, and mean-only
// look-ups of single layers, which searches over channels need by the million.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "estimate/estimate.h"
#include "network/zoo.h"
#include "profile/run.h"
#include "profile/synthetic_device_for_test.h"

namespace {

using namespace ampere;

// A profile of resnet50 (53 convolutions, 16 additions, one linear layer) with as many points as a real
// one has, from a synthetic device with some noise.
class Fixture {
 public:
  Fixture()
      : path_(file()), store_(path_), profile_(store_, store_.add_device({{"name", "synthetic"}}), "sgd") {
    layers_ = parse_layers(build(parse_zoo("resnet50-cifar")), 32);
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 0.02);
    SyntheticDevice device;
    ProfileOptions options;
    options.where.guided.stop_deviation = 1e-9;  // to the point limit
    run_profile(
        profile_, split_plans(layers_),
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
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  static std::string file() {
    const std::string path = std::filesystem::temp_directory_path() / "ampere_bench_estimate.db";
    std::filesystem::remove(path);
    return path;
  }
  std::string path_;
  Store store_;
  DeviceProfile profile_;
  std::vector<Layer> layers_;
};

Fixture& fixture() {
  static Fixture f;
  return f;
}

void estimate_network_of_layers(benchmark::State& state) {
  Fixture& f = fixture();
  std::vector<Layer> layers(f.layers().begin(), f.layers().begin() + state.range(0));
  const Method& method = find_method("split");
  for (auto _ : state)
    benchmark::DoNotOptimize(
        method.estimate(models_for(f.profile(), method, layers), layers, "any", MeasureMode::kEager));
  state.counters["layers"] = static_cast<double>(layers.size());
}
BENCHMARK(estimate_network_of_layers)->Arg(10)->Arg(50)->Unit(benchmark::kMillisecond);

void mean_look_ups(benchmark::State& state) {
  Fixture& f = fixture();
  const LayerModels known = models_for(f.profile(), find_method(kSplit), f.layers());
  std::vector<const SurfaceModel*> models;
  std::vector<Channels> places;
  for (const Layer& layer : f.layers()) {
    models.push_back(&known.model(layer_surface(kSplit, layer.role, layer.kind).name, Quantity::kEnergy));
    places.push_back(layer.channels);
  }
  for (auto _ : state) {
    double sum = 0;
    for (std::size_t i = 0; i < models.size(); ++i) sum += models[i]->mean_at(places[i]);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(models.size()));
}
BENCHMARK(mean_look_ups);

}  // namespace

BENCHMARK_MAIN();
