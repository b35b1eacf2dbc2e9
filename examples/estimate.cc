// What will training this network cost on the device that was profiled last?
//
//   estimate STORE MODEL BATCH SAMPLES EPOCHS
#include <ampere/ampere.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: %s STORE MODEL BATCH SAMPLES EPOCHS\n", argv[0]), 2;
  try {
    ampere::Device device = ampere::Device::stored(argv[1]);
    const ampere::Model model = ampere::Model::load(argv[2]);
    const std::int64_t batch = std::atoll(argv[3]);
    const ampere::Estimate e = ampere::estimate(device, model, {.batch = batch});

    for (const ampere::LayerEstimate& l : e.layers)
      std::printf("%-8s %-40s %10.3g J\n", l.name.c_str(), l.kind.c_str(), l.energy_j.value);
    const double iterations = ampere::iterations_of(std::atoll(argv[4]), batch, std::atoll(argv[5]));
    const ampere::Interval job = e.energy_j * iterations;
    std::printf("%s on %s: %.3g J (%.3g to %.3g), %.3g s\n", model.name().c_str(), device.name().c_str(),
                job.value, job.low, job.high, e.time_s.value * iterations);
    return 0;
  } catch (const ampere::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), ampere::exit_code(error.kind());
  }
}
