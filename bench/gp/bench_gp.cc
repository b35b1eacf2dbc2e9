// Times fitting and predicting on a data set and prints one JSON object.
//
//   bench_gp DATA.json REPEATS
//
// DATA.json: {"x": [[...]], "y": [...], "query": [[...]], "restarts": 5}
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gp/gp.h"

namespace ampere {
namespace {

constexpr int kLookups = 2'000'000;  // at 100 observations; fewer at more

std::vector<double> time_repeats(int repeats, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();  // of the processor: others may run beside
    work();
    seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return seconds;
}

Eigen::MatrixXd to_matrix(const Json& rows) {
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows[0].size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j].get<double>();
    }
  }
  return matrix;
}

Json run(const std::string& path, int repeats) {
  const Json input = read_json_file(path);
  GpData data;
  data.x = to_matrix(input.at("x"));
  const auto y = input.at("y").get<std::vector<double>>();
  data.y = Eigen::Map<const Eigen::VectorXd>(y.data(), static_cast<Eigen::Index>(y.size()));
  const Eigen::MatrixXd query = to_matrix(input.at("query"));
  GpOptions options;
  options.restarts = input.at("restarts").get<int>();

  Gp gp(data, {1, Eigen::VectorXd::Ones(data.x.cols()), 1});
  Json output;
  output["fit_s"] = time_repeats(repeats, [&] { gp = Gp::fit(data, options); });
  double sum = gp.predict(query).mean.sum();  // printed, so that no work can be optimised away
  output["predict_s"] = time_repeats(repeats, [&] { sum += gp.predict(query).variance.sum(); });
  const Eigen::MatrixXd points = query.transpose();
  const int count = static_cast<int>(kLookups * std::min(1.0, 100.0 / static_cast<double>(y.size())));
  const auto lookups = time_repeats(repeats, [&] {
    for (int i = 0; i < count; ++i) sum += gp.mean_at(points.col(i % points.cols()).data());
  });
  output["lookups_per_s"] = count / *std::min_element(lookups.begin(), lookups.end());
  output["lml"] = gp.log_marginal_likelihood();
  const Hyperparameters& found = gp.hyperparameters();
  output["length_scales"] = std::vector<double>(found.length_scales.begin(), found.length_scales.end());
  output["signal_sd"] = found.signal_sd;
  output["noise_sd"] = found.noise_sd;
  const Eigen::VectorXd means = gp.predict(query).mean;
  output["mean"] = std::vector<double>(means.begin(), means.end());
  output["checksum"] = sum;
  return output;
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_gp DATA.json REPEATS\n");
    return 2;
  }
  try {
    std::printf("%s\n", ampere::run(argv[1], std::atoi(argv[2])).dump(1).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gp: %s\n", error.what());
    return 1;
  }
  return 0;
}
