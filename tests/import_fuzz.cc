// libFuzzer target: any bytes as an ONNX file. They are imported, cut into layers and written as JSON, or
// refused with an Error; anything else is a bug.
//
//   tests/import_fuzz CORPUS -max_total_time=3600 -rss_limit_mb=512 -timeout=5
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "import/import.h"
#include "layers/parse.h"
#include "network/network_json.h"

namespace {

void try_to_import(const std::uint8_t* data, std::size_t size, const ampere::ImportOptions& options) {
  try {
    const ampere::Imported imported = ampere::import_onnx(data, size, "fuzzed", "fuzzed.onnx", options);
    const ampere::Json json = ampere::network_to_json(imported.network);
    // What was made must be a network that can be read again and taken apart at any batch.
    const ampere::Network again = ampere::network_from_json(json, "fuzzed");
    for (const ampere::Layer& layer : ampere::parse_layers(again, 2)) {
      if (layer.kind.word().empty()) std::abort();
    }
  } catch (const ampere::Error&) {
    // Refused, as it should be.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ampere::ImportOptions options;
  options.dims = {};
  try_to_import(data, size, options);
  options.restore_batchnorm = true;
  options.ignore_unsupported = true;
  try_to_import(data, size, options);
  return 0;
}
