// How a network will be trained. All of it changes what the same layer costs.
#pragma once

#include <cstdint>
#include <string>

namespace ampere {

// How a network is trained: what changes the cost of the same layer. Part of every stored key.
struct Recipe {
  std::string optimizer = "sgd";  // "sgd", "momentum", "adam"
  // "default": what the framework does when nothing is said, which on NVIDIA GPUs is TF32 in convolutions and
  // float32 in matrix products; "fp32": float32 throughout; "tf32"; "bf16"
  std::string precision = "default";
  bool autotune = false;  // let the framework time its kernels and keep the fastest
  bool deterministic = false;
  int threads = 1;        // CPU threads
  std::int64_t seed = 1;  // of weights and data; not part of the key

  // One readable word: "sgd-default-t1", "adam-bf16-autotune-t4".
  std::string word() const;
};

enum class MeasureMode {
  kEager,   // every step issued by the host, as plain training does
  kReplay,  // steps captured once and replayed back to back; the device never waits for the host
};

// What is trained besides the network: all else that decides its cost.
struct TrainingSetup {
  std::int64_t batch = 1;  // samples per iteration
  Recipe recipe = {};
};

}  // namespace ampere
