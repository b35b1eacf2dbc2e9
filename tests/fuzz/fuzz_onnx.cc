// ONNX files: imported, cut into layers and written as JSON, or refused.
#include "mutate.h"
#include "networks.h"

int main(int argc, char** argv) {
  using namespace ampere;
  const std::vector<std::string> seeds = fuzz::test_data("onnx", ".onnx", 30000);
  return fuzz::fuzz_main(
      argc, argv,
      {"onnx", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_message(random, seeds); },
       [](const std::string& input) {
         return fuzz::use_imported([&](const ImportOptions& options) {
           return import_onnx(input.data(), input.size(), "fuzzed", "fuzzed.onnx", options);
         });
       }});
}
