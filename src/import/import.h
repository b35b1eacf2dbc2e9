// ONNX files -> Network, without LibTorch. Weights are never read: an energy estimate does not depend on
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ampere/model.h"
#include "network/network.h"

namespace ampere {

// An op of the file that has no place in a Network, and where it occurs.
struct UnsupportedOp {
  std::string op;
  std::string why;
  std::vector<std::string> nodes;
};

struct Imported {
  Network network;
  std::optional<std::int64_t> batch;  // what the file was exported with, where it fixes one
  std::vector<std::string> notes;     // what the user should know, one sentence or two each
  std::vector<UnsupportedOp> unsupported;
  // Of what --ignore-unsupported left out: its share of the forward pass's FLOPs, counting one or two per
  // element.
  double ignored_flops_share = 0;
  int batchnorms_lost = 0;  // convolutions that a batch norm was folded into
  int batchnorms_restored = 0;
  int biases_restored = 0;  // that were all zero and therefore left out by the exporter
  bool for_inference = false;
};

// Throws Error{kBadInput}: what is wrong with the file, or every op that is not supported, with where it
// occurs.
Imported import_onnx(const std::string& path, const ImportOptions& options = {});
// The same of a file that is in memory already; `name` is the network's.
Imported import_onnx(const void* data, std::size_t size, const std::string& name, const std::string& where,
                     const ImportOptions& options = {});

// The batch that a file was exported with; absent where it leaves it open, or is no such file.
std::optional<std::int64_t> onnx_batch(const std::string& path);

// True for a path that ends in .onnx.
bool is_onnx_path(const std::string& path);

}  // namespace ampere
