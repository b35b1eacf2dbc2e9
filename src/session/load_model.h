// MODEL arguments: a network of the zoo by name, a network file, or an imported ONNX or TorchScript file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/import.h"
#include "network/network.h"
#include "network/recorded_pass.h"
#include "network/zoo.h"
#include "protocol/worker_client.h"

namespace ampere {

struct ModelSource {
  std::string model;                // a zoo name, or a .json, .onnx, .pt or .pth file
  std::int64_t batch = 1;           // a TorchScript file that runs with one batch only is run with this one
  std::vector<std::string> inputs;  // shapes that a TorchScript file is run with (script_model.h)
  ImportOptions import;
};

struct LoadedModel {
  Network network;
  std::optional<ZooChoice> zoo;  // present for networks of the zoo
  // Of imported files:
  std::vector<std::string> notes;          // what the user should know, one sentence or two each
  std::vector<UnsupportedOp> unsupported;  // that were left out (ImportOptions::ignore_unsupported)
  double ignored_flops_share = 0;
};

// A TorchScript file is run once by a worker; nothing else starts one. Throws Error{kBadInput} that names the
// file.
LoadedModel load_model(const ModelSource& source, const WorkerOptions& worker);

// Of what somebody recorded; nothing is started. Throws Error{kBadInput} that names the module.
LoadedModel load_trace(const RecordedPass& pass, const ImportOptions& options);

// "NAME=SIZE", a dimension that an ONNX file only names. Throws Error{kBadInput}.
void read_dimension(const std::string& text, ImportOptions& options);

}  // namespace ampere
