// Differential test: an independent implementation must find the same posteriors, and no better fits. The
// figures are in testdata/sklearn.json, made by testdata/make_sklearn_fixture.py.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "gp/gp.h"

namespace ampere {
namespace {

Eigen::VectorXd to_vector(const Json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

Eigen::MatrixXd to_matrix(const Json& rows) {
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows[0].size()));
  for (std::size_t i = 0; i < rows.size(); ++i) matrix.row(static_cast<Eigen::Index>(i)) = to_vector(rows[i]);
  return matrix;
}

class Sklearn : public testing::Test {
 protected:
  // Calls `test` with each case, its data and its kernel.
  template <typename Function>
  void for_each_case(const Function& test) {
    const Json cases = read_json_file(std::string(AMPERE_GP_TESTDATA) + "/sklearn.json").at("cases");
    ASSERT_GE(cases.size(), 6U);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Json& c = cases[i];
      const double nu = c.at("nu").get<double>();
      SCOPED_TRACE("case " + std::to_string(i) + ": smoothness " + std::to_string(nu));
      GpData data;
      data.x = to_matrix(c.at("x"));
      data.y = to_vector(c.at("y"));
      GpOptions options;
      options.kernel = nu == 0.5 ? KernelType::kMatern12 : KernelType::kMatern52;
      test(c, data, options);
    }
  }
};

TEST_F(Sklearn, SamePosteriors) {
  for_each_case([](const Json& c, GpData data, const GpOptions& options) {
    const Json& given = c.at("given");
    data.noise_weights = to_vector(c.at("noise_weights"));
    const Gp gp(data,
                {given.at("signal_sd").get<double>(), to_vector(given.at("length_scales")),
                 given.at("noise_sd").get<double>()},
                options.kernel);
    const Eigen::MatrixXd query = to_matrix(given.at("query"));
    const GpPrediction alone = gp.predict(query);
    const GpJointPrediction joint = gp.joint(query);
    EXPECT_LT((alone.mean - to_vector(given.at("mean"))).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT((alone.variance.cwiseSqrt() - to_vector(given.at("sd"))).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT((joint.covariance - to_matrix(given.at("covariance"))).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_NEAR(gp.log_marginal_likelihood(), given.at("lml").get<double>(), 1e-8);
  });
}

TEST_F(Sklearn, FitsNoWorse) {
  for_each_case([](const Json& c, const GpData& data, const GpOptions& options) {
    EXPECT_GE(Gp::fit(data, options).log_marginal_likelihood(), c.at("fitted_lml").get<double>() - 1e-3);
  });
}

}  // namespace
}  // namespace ampere
