// Recorded passes of TorchScript modules, as a worker tells them: made into networks, or refused.
#include "import/script/torchscript.h"
#include "mutate.h"
#include "networks.h"

int main(int argc, char** argv) {
  using namespace ampere;
  const std::vector<std::string> seeds = fuzz::test_data("passes", ".json", 30000);
  return fuzz::fuzz_main(
      argc, argv,
      {"torchscript", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_json(random, seeds); },
       [](const std::string& input) {
         const RecordedPass pass = recorded_pass_from_json(parse_json(input, "fuzzed"));
         if (to_json(recorded_pass_from_json(to_json(pass))) != to_json(pass))
           throw fuzz::Wrong{"written and read again it is another pass"};
         return fuzz::use_imported([&](const ImportOptions& options) {
           return import_torchscript(pass, "fuzzed", "fuzzed.pt", options);
         });
       }});
}
