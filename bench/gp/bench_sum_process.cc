// Times the one model's process (gp/sum_process.h) on a data set and prints one JSON object. Its lengths and
// deviations are fixed, so fitting is conditioning: the covariance, four times made straight and solved.
//
//   bench_sum_process DATA.json REPEATS
//
// DATA.json: {"x": [[...]], "y": [...], "query": [[...]], "length_scales": [...], "signal_sd": 1, "noise_sd":
// 0.05}. Each observation is a sum of two terms, its own point and the next one's, of a process whose
// logarithm has Matern 5/2 covariance.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "base/json.h"
#include "gp/sum_process.h"

namespace ampere {
namespace {

using Rows = std::vector<std::vector<double>>;

struct Covariance {
  std::vector<double> lengths;
  double signal_sd;

  Eigen::MatrixXd operator()(const Rows& a, const Rows& b) const {
    Eigen::MatrixXd k(static_cast<Eigen::Index>(a.size()), static_cast<Eigen::Index>(b.size()));
    for (std::size_t j = 0; j < b.size(); ++j) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        double squared = 0;
        for (std::size_t d = 0; d < lengths.size(); ++d)
          squared += std::pow((a[i][d] - b[j][d]) / lengths[d], 2);
        const double r = std::sqrt(5 * squared);
        k(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
            signal_sd * signal_sd * (1 + r + r * r / 3) * std::exp(-r);
      }
    }
    return k;
  }
};

template <class Work>
std::vector<double> time_each(int repeats, const Work& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();  // of the processor: others may run beside
    work();
    seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return seconds;
}

Json run(const std::string& path, int repeats) {
  const Json input = read_json_file(path);
  const Rows x = input.at("x").get<Rows>(), query = input.at("query").get<Rows>();
  const auto y = input.at("y").get<std::vector<double>>();
  const Covariance covariance{input.at("length_scales").get<std::vector<double>>(),
                              input.at("signal_sd").get<double>()};
  const double noise = input.at("noise_sd").get<double>();
  const auto n = static_cast<int>(x.size());
  std::vector<SeenSum> seen;
  for (int i = 0; i < n; ++i) {
    const int next = (i + 1) % n;
    const double sum = std::exp(y[static_cast<std::size_t>(i)]) + std::exp(y[static_cast<std::size_t>(next)]);
    seen.push_back({{{i, 1}, {next, 1}}, std::log(sum), noise});
  }
  double level = 0;
  for (const double value : y) level += value / n;
  const Eigen::VectorXd mean = Eigen::VectorXd::Constant(n, level);
  const Eigen::VectorXd query_mean =
      Eigen::VectorXd::Constant(static_cast<Eigen::Index>(query.size()), level);
  std::vector<AskedSum> asked;
  for (std::size_t i = 0; i < query.size(); ++i) asked.push_back({{{static_cast<int>(i), 1}}, -1});

  Json output;
  double sum = 0;  // printed, so that no work can be optimised away
  output["fit_s"] =
      time_each(repeats, [&] { sum += SumProcess(covariance(x, x), mean, seen, 0.01).values().sum(); });
  const SumProcess process(covariance(x, x), mean, seen, 0.01);
  output["predict_s"] = time_each(repeats, [&] {
    sum += process.at(asked, covariance(query, x), covariance(query, query), query_mean).log_mean.sum();
  });
  output["checksum"] = sum;
  return output;
}

}  // namespace
}  // namespace ampere

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_sum_process DATA.json REPEATS\n");
    return 2;
  }
  try {
    std::printf("%s\n", ampere::run(argv[1], std::atoi(argv[2])).dump(1).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_sum_process: %s\n", error.what());
    return 1;
  }
  return 0;
}
