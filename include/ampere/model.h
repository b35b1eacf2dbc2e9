// A network whose training is to be estimated: its layers and their sizes. Weights are never part of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ampere {

// Where a layer stands. It decides what training does with it: an input layer hands no gradient down, an
// output layer computes the loss.
enum class LayerRole { kInput, kHidden, kOutput, kOnly };
// "input", "hidden", "output", "only"
const char* to_word(LayerRole role);

// How many channels (features of linear layers) a layer reads and puts out.
struct Channels {
  std::int64_t in = 0;
  std::int64_t out = 0;
  auto operator<=>(const Channels&) const = default;
};

// How an ONNX or TorchScript file becomes a network.
struct ImportOptions {
  // Sizes of dimensions that an ONNX file only names, by their names. The batch needs none.
  std::map<std::string, std::int64_t> dims = {};
  // Puts a batch norm after each convolution that lost its own when it was exported for inference.
  bool restore_batchnorm = false;
  // Goes on without ops that are not supported, instead of refusing the file.
  bool ignore_unsupported = false;
};

struct LoadOptions {
  // Of TorchScript files, which a worker runs once to see what they do: the shape of one sample of each input
  // ("3x224x224", "int:128", "35xNx200"; N stands where the batch is, if not in front), and the batch for
  // files that run with one batch only.
  std::vector<std::string> inputs = {};
  std::int64_t batch = 1;
  // The command that starts that worker; empty: as DeviceOptions::worker.
  std::string worker = {};
  ImportOptions import = {};
};

// One layer as AMPERE sees it: an op with weights, together with the ops without weights behind it.
struct ModelLayer {
  std::string name;  // of its first op in the network
  LayerRole role = LayerRole::kHidden;
  std::string kind;  // layers of one kind differ in channels only: "conv3x3p1-relu@28x28b10"
  Channels channels;
  double flops = 0;       // per training iteration: forward, backward and update
  double parameters = 0;  // trained weights
};

// Immutable, and cheap to copy: copies share what was loaded. May be used by several threads at once.
class Model {
 public:
  // `model` is a network of the zoo by name ("lenet5", "resnet18:w1=32"), or the path of a network file
  // (.json), an ONNX file (.onnx) or a TorchScript file (.pt, .pth). Only the last kind starts a worker.
  // Throws Error{kBadInput} that names the file and says what is wrong with it, and Error{kWorker}.
  static Model load(const std::string& model, const LoadOptions& options = {});
  // The text of a network file (docs/network.schema.json). Throws Error{kBadInput}.
  static Model from_json(const std::string& json);
  // What one forward pass did, as a worker's `trace` tells it (docs/protocol.md): for whoever has the module
  // itself and recorded it. Throws Error{kBadInput}: what is wrong with it, or every op that is not
  // supported.
  static Model from_trace(const std::string& json, const ImportOptions& options = {});

  const std::string& name() const;
  // What a user should know about how it was imported, one sentence or two each; mostly empty.
  const std::vector<std::string>& notes() const;
  // The batch that an ONNX file was exported with, where it fixes one.
  std::optional<std::int64_t> exported_batch() const;

  // Trained weights.
  double parameters() const;
  // Floating-point operations of one training iteration; a multiply-add counts as two. Throws
  // Error{kBadInput} for a batch below 1.
  double flops(std::int64_t batch) const;
  // In the order of the network. Throws as flops() does.
  std::vector<ModelLayer> layers(std::int64_t batch) const;

  // A network file's text; from_json() gives the same network back.
  std::string to_json() const;
  // Writes it. Throws Error{kBadInput} for a path that cannot be written, Error{kFailed} when the disk is
  // full.
  void save(const std::string& path) const;

 private:
  struct Impl;
  friend struct ModelAccess;
  explicit Model(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// A network of the zoo.
struct KnownModel {
  std::string name;
  std::string description;
};
std::vector<KnownModel> known_models();

}  // namespace ampere
