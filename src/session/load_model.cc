#include "session/load_model.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "import/script/torchscript.h"
#include "network/network_json.h"
#include "network/shape.h"
#include "session/script_model.h"

namespace ampere {
namespace {

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() > ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

LoadedModel from_import(Imported imported) {
  if (!imported.unsupported.empty()) {
    char share[32];
    std::snprintf(share, sizeof share, "%.2g%%", 100 * imported.ignored_flops_share);
    std::string list;
    for (const UnsupportedOp& u : imported.unsupported) list += (list.empty() ? "" : ", ") + u.op;
    imported.notes.push_back("goes on without " + list + ": about " + share + " of the forward pass's FLOPs");
  }
  return {std::move(imported.network), std::nullopt, std::move(imported.notes),
          std::move(imported.unsupported), imported.ignored_flops_share};
}

LoadedModel from_network_file(const std::string& path) {
  Network network = read_network_file(path);
  try {
    infer_shapes(network, captured_batch(network).value_or(1));  // told with the name of the file
  } catch (const Error& e) {
    throw Error(e.kind(), path + ": " + e.what());
  }
  return {std::move(network), std::nullopt, {}, {}, 0};
}

}  // namespace

LoadedModel load_model(const ModelSource& source, const WorkerOptions& worker) {
  const std::string& text = source.model;
  const ImportOptions& import = source.import;
  if (is_torchscript_path(text)) {
    if (!import.dims.empty() || import.restore_batchnorm)
      throw bad_input("--dim and --restore-batchnorm go with .onnx files only");
    if (worker.command.empty()) {
      throw bad_input(text +
                      ": a TorchScript file is run by a worker, and here is none; write it as a network "
                      "file first: ampere convert " +
                      text + " --input SHAPE -o NETWORK.json");
    }
    return from_import(load_script(text, source.inputs, source.batch, import, worker));
  }
  if (!source.inputs.empty()) throw bad_input("--input goes with TorchScript files (.pt, .pth) only");
  if (is_onnx_path(text)) return from_import(import_onnx(text, import));
  if (!import.dims.empty() || import.restore_batchnorm || import.ignore_unsupported)
    throw bad_input("--dim, --restore-batchnorm and --ignore-unsupported go with imported files only");
  if (ends_with(text, ".json")) return from_network_file(text);
  if (text.find('/') != std::string::npos || std::ifstream(text).good()) {
    throw bad_input(
        text + ": a network file must end in .json, .onnx or .pt; zoo networks are listed by: ampere models");
  }
  ZooChoice choice = parse_zoo(text);
  Network network = build(choice);
  return {std::move(network), std::move(choice), {}, {}, 0};
}

LoadedModel load_trace(const RecordedPass& pass, const ImportOptions& options) {
  if (!options.dims.empty() || options.restore_batchnorm)
    throw bad_input("names of dimensions and restored batch norms go with ONNX files only");
  return from_import(import_torchscript(pass, pass.name, pass.name, options));
}

void read_dimension(const std::string& text, ImportOptions& options) {
  const std::size_t equals = text.find('=');
  char* end = nullptr;
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  const long long size = std::strtoll(number.c_str(), &end, 10);
  if (equals == 0 || number.empty() || *end != '\0' || size < 1 || size > kMaxWidth)
    throw bad_input("--dim must be NAME=SIZE with a size of 1 to 16777216, found \"" + text + "\"");
  options.dims[text.substr(0, equals)] = size;
}

}  // namespace ampere
