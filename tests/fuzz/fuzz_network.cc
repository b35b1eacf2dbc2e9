// Network files.
#include "mutate.h"
#include "network/zoo.h"
#include "networks.h"

int main(int argc, char** argv) {
  using namespace ampere;
  std::vector<std::string> seeds;
  for (const std::string& text : fuzz::test_data("", ".json", 30000)) {
    if (Json::parse(text).contains("nodes")) seeds.push_back(text);
  }
  for (const ZooEntry& entry : zoo()) {
    const std::string text = network_to_json(build(parse_zoo(entry.name))).dump();
    if (text.size() <= 20000) seeds.push_back(text);
  }
  return fuzz::fuzz_main(
      argc, argv,
      {"network", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_json(random, seeds); },
       [](const std::string& input) {
         fuzz::use_network(network_from_json(parse_json(input, "fuzzed"), "fuzzed"));
         return true;
       }});
}
