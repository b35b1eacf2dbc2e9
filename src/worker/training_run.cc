#include "worker/training_run.h"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "meter/once.h"
#include "network/shape.h"
#include "worker/trainer.h"

namespace ampere::worker {
namespace {

struct DeviceSet {
  torch::Tensor images;  // count x height x width
  torch::Tensor labels;
};

torch::Tensor as_floats(const IdxArray& array) {
  return torch::from_blob(const_cast<std::uint8_t*>(array.values.data()), array.dims, torch::kUInt8)
      .to(torch::kFloat);
}

torch::Tensor as_classes(const IdxArray& array) {
  return torch::from_blob(const_cast<std::uint8_t*>(array.values.data()), array.dims, torch::kUInt8)
      .to(torch::kLong);
}

}  // namespace

class DeviceData {
 public:
  DeviceData(const ImageData& data, torch::Device place) : classes(data.classes) {
    torch::Tensor images = as_floats(data.train.images);
    const double mean = images.mean().item<double>();
    const double deviation = std::max(images.std().item<double>(), 1e-6);
    const auto ready = [&](const torch::Tensor& t) { return ((t - mean) / deviation).to(place); };
    train = {ready(images), as_classes(data.train.labels).to(place)};
    test = {ready(as_floats(data.test.images)), as_classes(data.test.labels).to(place)};
  }

  DeviceSet train, test;
  std::int64_t classes;
};

std::shared_ptr<DeviceData> load_data(const std::string& folder, TorchDevice& device) {
  return std::make_shared<DeviceData>(read_image_data(folder), device.place());
}

struct TrainingRun::State {
  std::shared_ptr<DeviceData> data;
  TorchDevice& device;
  std::int64_t batch;
  std::vector<std::int64_t> input;  // shape of a batch, as the network reads it
  std::unique_ptr<Trainer> trainer;
  std::mt19937_64 random;
  torch::Tensor order;  // of the images in this epoch, on the device
  std::int64_t next = 0;

  std::int64_t count() const { return data->train.labels.size(0); }

  void shuffle() {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count()));
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random() % (i + 1)]);
    order = torch::tensor(all, torch::kLong).to(data->train.images.device());
    next = 0;
  }

  // An epoch ends where no whole batch is left.
  void step() {
    if (!order.defined() || next + batch > count()) shuffle();
    const torch::Tensor chosen = order.narrow(0, next, batch);
    next += batch;
    trainer->feed(data->train.images.index_select(0, chosen).view(input),
                  data->train.labels.index_select(0, chosen));
    trainer->step();
  }
};

TrainingRun::TrainingRun(const Network& network, std::int64_t batch, const Recipe& recipe,
                         std::shared_ptr<DeviceData> data, TorchDevice& device)
    : state_(std::make_unique<State>(
          State{std::move(data), device, batch, {}, nullptr, std::mt19937_64(), {}, 0})) {
  State& s = *state_;
  const std::vector<Tensor> shapes = infer_shapes(network, batch);
  int inputs = 0;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    if (network.nodes()[i].op != Op::kInput) continue;
    ++inputs;
    s.input = shapes[i].dims;
    if (shapes[i].dtype != DType::kFloat) inputs = 2;
  }
  const auto& images = s.data->train.images;
  const std::int64_t pixels = images.size(1) * images.size(2);
  if (inputs != 1 ||
      std::accumulate(s.input.begin() + 1, s.input.end(), std::int64_t{1}, std::multiplies<>()) != pixels) {
    throw bad_input("network " + network.name() +
                    ": to be trained on these images it must read one float input of " +
                    std::to_string(pixels) + " numbers (1 x " + std::to_string(images.size(1)) + " x " +
                    std::to_string(images.size(2)) + ")");
  }
  const std::vector<int> outputs = network.outputs();
  const Tensor& output = shapes[static_cast<std::size_t>(outputs[0])];
  if (outputs.size() != 1 || output.rank() != 2 || output.dims[1] < s.data->classes) {
    throw bad_input("network " + network.name() +
                    ": to be trained on these images it must put out one score for each of " +
                    std::to_string(s.data->classes) + " classes");
  }
  if (batch > s.count() || batch > s.data->test.labels.size(0))
    throw bad_input("train: a batch of " + std::to_string(batch) + " is more than the data set has images");
  TrainerOptions options;
  options.recipe = recipe;
  s.trainer = std::make_unique<Trainer>(network, batch, options, device);
  s.random.seed(static_cast<std::uint64_t>(recipe.seed));
}

TrainingRun::~TrainingRun() = default;

Stretch TrainingRun::train(std::int64_t iterations, double learning_rate, MeterInUse& source) {
  State& s = *state_;
  s.trainer->set_learning_rate(learning_rate);
  s.device.synchronise();
  const MeteredOnce metered = meter_once(
      *source.meter,
      [&] {
        for (std::int64_t i = 0; i < iterations; ++i) s.step();
        s.device.synchronise();
      },
      source.character, source.idle);
  iterations_ += iterations;
  return {metered.energy.value(), metered.time.value(), s.trainer->last_loss().value_or(0)};
}

TestResult TrainingRun::test() {
  State& s = *state_;
  const torch::NoGradGuard no_gradients;
  const DeviceSet& set = s.data->test;
  const std::int64_t count = set.labels.size(0);
  double loss = 0, right = 0;
  for (std::int64_t done = 0; done < count; done += s.batch) {
    // The last batch begins early, to be a whole one; what it has seen before does not count again.
    const std::int64_t from = std::min(done, count - s.batch);
    const torch::Tensor scores = s.trainer->evaluate(set.images.narrow(0, from, s.batch).reshape(s.input))
                                     .to(torch::kFloat)
                                     .narrow(0, done - from, s.batch - (done - from));
    const torch::Tensor labels = set.labels.narrow(0, done, s.batch - (done - from));
    loss += torch::cross_entropy_loss(scores, labels, {}, at::Reduction::Sum).item<double>();
    right += scores.argmax(1).eq(labels).sum().item<double>();
  }
  return {loss / static_cast<double>(count), right / static_cast<double>(count)};
}

}  // namespace ampere::worker
