// Several networks trained in turns on one data set, each metered by itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/recipe.h"
#include "protocol/worker_client.h"
#include "prune/checked.h"

namespace ampere {

struct TrainingOptions {
  std::string data;  // folder on the worker's machine
  std::int64_t batch = 64;
  Recipe recipe;
  std::string meter;
  std::int64_t iterations = 1000;
  std::int64_t turn = 25;         // iterations of one network before it is the next one's turn
  std::int64_t test_every = 250;  // iterations between two tests
  double learning_rate = 0.05;    // at the start; falls linearly to nothing
};

// One place on a network's curve: what training had taken by then, and how good it was.
struct CurvePoint {
  std::int64_t iteration = 0;
  double energy_j = 0;
  double time_s = 0;
  double train_loss = 0;  // of the last iteration
  double test_loss = 0;
  double test_accuracy = 0;
};

struct TrainedNetwork {
  std::string label;
  Network network;
  double energy_j = 0;  // of all iterations; tests are not part of it
  double time_s = 0;
  std::vector<CurvePoint> curve;
};

struct Training {
  std::vector<TrainedNetwork> networks;
  std::string meter;
  bool modelled = false;
};

// In turns, so that a machine whose speed drifts does so for all of them alike.
Training train_in_turns(WorkerClient& worker, std::vector<TrainedNetwork> networks,
                        const TrainingOptions& options,
                        const std::function<void(std::int64_t done, std::int64_t of)>& progress);

// Joules of as many iterations on the data as take the first network about `seconds`, fetching batches
// included.
TrainingEnergy energy_on_data(WorkerClient& worker, const TrainingOptions& options, double seconds);

}  // namespace ampere
