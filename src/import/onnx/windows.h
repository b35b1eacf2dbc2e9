// Kernel, stride and padding of convolutions and pools, as attributes of a Network's op.
#pragma once

#include "import/onnx/importer.h"

namespace ampere {

struct Windows {
  std::vector<std::int64_t> kernel, stride, padding, dilation;
};

// `view` has the batch and the channels first. `pads`: what a Pad before it adds. Throws Unsupported where no
// even padding gives the same size.
Windows windows_of(const onnx::Node& node, const std::vector<std::int64_t>& dims,
                   std::vector<std::int64_t> kernel, const std::vector<std::int64_t>& pads);

}  // namespace ampere
