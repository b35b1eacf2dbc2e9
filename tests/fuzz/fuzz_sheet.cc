// Data sheets: read and asked what calls cost, or refused.
#include <cmath>

#include "model/work_model.h"
#include "mutate.h"

namespace ampere::fuzz {
namespace {

std::vector<std::string> all_sheets() {
  std::vector<std::string> seeds;
  for (const std::string& name : data_sheet_names()) seeds.push_back(to_json(find_data_sheet(name)).dump());
  return seeds;
}

std::vector<AskedWork> questions() {
  OpWork product;
  product.family = OpFamily::kProduct;
  product.arithmetic = Arithmetic::kHalf;
  product.flops = 1e12;
  product.bytes = 1e8;
  OpWork nothing;  // but a launch
  return {{"", {{product, 3}, {nothing, 100}}}, {"", {{nothing, 1}}}, {"", {}}};
}

void require(bool holds, const char* what) {
  if (!holds) throw Wrong{what};
}

void use_sheet(const std::string& input) {
  const DataSheet sheet = data_sheet_from(parse_json(input, "fuzzed"), "fuzzed");
  require(to_json(data_sheet_from(to_json(sheet), "again")) == to_json(sheet), "is another when read again");
  const WorkCosts costs = WorkModel({}, sheet).at(questions());
  for (Eigen::Index i = 0; i < costs.time_s.size(); ++i) {
    const double least = i + 1 < costs.time_s.size() ? 0 : -1;
    require(std::isfinite(costs.time_s(i)) && costs.time_s(i) > least, "a time that cannot be");
    require(std::isfinite(costs.energy_j(i)) && costs.energy_j(i) > least, "an energy that cannot be");
    require(costs.energy_j(i) <= 1.0001 * sheet.limit_w * costs.time_s(i), "more power than the limit");
    require(std::isfinite(costs.energy_covariance(i, i)), "a variance that is no number");
  }
}

}  // namespace
}  // namespace ampere::fuzz

int main(int argc, char** argv) {
  using namespace ampere;
  const std::vector<std::string> seeds = fuzz::all_sheets();
  return fuzz::fuzz_main(
      argc, argv,
      {"sheet", seeds, [&](fuzz::Random& random) { return fuzz::spoiled_json(random, seeds); },
       [](const std::string& input) {
         fuzz::use_sheet(input);
         return true;
       }});
}
