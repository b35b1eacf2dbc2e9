#include "profile/shared_power.h"

#include <algorithm>
#include <cmath>

#include "profile/surface_model.h"

namespace ampere {
namespace {

constexpr std::size_t kLeastKinds = 3;
// Points beyond one factor per kind and the process itself.
constexpr Eigen::Index kLeastSpare = 8;
// A likelihood of so many points is fitted in a moment; more of them change the hyperparameters little.
constexpr Eigen::Index kMostFitted = 240;
// As many points as the process's own word on its errors counts for.
constexpr double kPriorPoints = 4;
constexpr int kFolds = 5;

GpOptions shared_options() {
  GpOptions options = default_surface_options().gp;
  options.kernel = KernelType::kMatern52;
  options.restarts = 1;
  options.evaluations = 60;
  return options;
}

GpData rows_of(const GpData& all, const std::vector<Eigen::Index>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  GpData some{Eigen::MatrixXd(n, all.x.cols()), Eigen::VectorXd(n), Eigen::MatrixXd(n, all.basis.cols()),
              Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::Index row = rows[static_cast<std::size_t>(i)];
    some.x.row(i) = all.x.row(row);
    some.y(i) = all.y(row);
    some.basis.row(i) = all.basis.row(row);
    some.noise_weights(i) = all.noise_weights(row);
  }
  return some;
}

// Every nth, and the first of each kind, so that no kind goes without.
GpData thinned(const GpData& all, Eigen::Index n) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = 0; i < all.x.rows(); ++i) {
    if (i % n == 0 || all.basis.row(i) != all.basis.row(i - 1)) rows.push_back(i);
  }
  return rows_of(all, rows);
}

// How far each observation is off what the others say, in predicted deviations, a fifth of every kind held
// back at a time: kinds are measured at the same places, and one left out alone would be told by its twin.
Eigen::VectorXd held_back(const Gp& gp) {
  const GpData& data = gp.data();
  Eigen::VectorXd off = Eigen::VectorXd::Ones(gp.size());
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<Eigen::Index> kept, out;
    Eigen::RowVectorXd seen = Eigen::RowVectorXd::Zero(data.basis.cols());
    for (Eigen::Index i = 0; i < gp.size(); ++i) {
      const auto of_kind = static_cast<int>(seen.dot(data.basis.row(i)));
      (of_kind > 0 && of_kind % kFolds == fold ? out : kept).push_back(i);  // a kind keeps its first
      seen += data.basis.row(i);
    }
    if (out.empty()) continue;
    const Gp rest = Gp::with_hyperparameters(rows_of(data, kept), gp.hyperparameters(), shared_options());
    const GpData judged = rows_of(data, out);
    const GpPrediction said = rest.predict(judged.x, judged.basis);
    const double noise = std::pow(gp.hyperparameters().noise_sd, 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      off(out[i]) =
          (judged.y(at) - said.mean(at)) / std::sqrt(said.variance(at) + noise * judged.noise_weights(at));
    }
  }
  return off;
}

}  // namespace

SharedPower::SharedPower(Gp gp, std::map<std::string, Known> kinds, double base_w)
    : gp_(std::move(gp)), kinds_(std::move(kinds)), base_w_(base_w) {
  const Eigen::VectorXd off = held_back(gp_);
  for (auto& [key, kind] : kinds_) {
    const Eigen::VectorXd belongs = gp_.data().basis.col(kind.column);
    const double squares = belongs.dot(off.cwiseAbs2()) + kPriorPoints;
    kind.caution = std::clamp(squares / (belongs.sum() + kPriorPoints), 1.0, 16.0);
  }
}

std::shared_ptr<const SharedPower> SharedPower::fit(const std::map<std::string, PowerOfKind>& kinds,
                                                    double idle_w, bool by_channels) {
  std::map<std::string, Known> known;
  std::vector<PowerObservation> all;
  for (const auto& [key, kind] : kinds) {
    if (kind.observations.empty()) continue;
    known.emplace(key, Known{kind.cost, static_cast<Eigen::Index>(known.size()), 1});
    all.insert(all.end(), kind.observations.begin(), kind.observations.end());
  }
  const auto n = static_cast<Eigen::Index>(all.size()), p = static_cast<Eigen::Index>(known.size());
  if (known.size() < kLeastKinds || n < p + kLeastSpare) return nullptr;
  const double base_w = base_power(idle_w, all);
  const Eigen::Index inputs = by_channels ? 5 : 3;  // the rates come first
  GpData data{Eigen::MatrixXd(n, inputs), Eigen::VectorXd(n), Eigen::MatrixXd::Zero(n, p),
              Eigen::VectorXd(n)};
  Eigen::Index row = 0;
  for (const auto& [key, kind] : known) {
    const PowerData seen = energy_over_work(kind.cost, kinds.at(key).observations, base_w);
    const Eigen::Index m = seen.y.size();
    data.x.middleRows(row, m) = seen.x.leftCols(inputs);
    data.y.segment(row, m) = seen.y;
    data.noise_weights.segment(row, m) = seen.noise_weights;
    data.basis.block(row, kind.column, m, 1).setOnes();
    row += m;
  }
  const auto made = [&](Gp gp) {
    return std::shared_ptr<const SharedPower>(new SharedPower(std::move(gp), known, base_w));
  };
  if (n <= kMostFitted) return made(Gp::fit(std::move(data), shared_options()));
  const Gp some = Gp::fit(thinned(data, (n + kMostFitted - 1) / kMostFitted), shared_options());
  return made(Gp::with_hyperparameters(std::move(data), some.hyperparameters(), shared_options()));
}

GpJointPrediction SharedPower::log_energy(const std::string& kind, const std::vector<Channels>& places,
                                          const Eigen::VectorXd& times) const {
  const Known& known = kinds_.at(kind);
  const Eigen::MatrixXd x = rates_and_channels(known.cost, places, times).leftCols(gp_.data().x.cols());
  Eigen::MatrixXd basis = Eigen::MatrixXd::Zero(x.rows(), gp_.basis_size());
  basis.col(known.column).setOnes();
  GpJointPrediction beyond = gp_.joint(x, basis);
  const double roughness = gp_.hyperparameters().noise_sd;
  beyond.covariance.diagonal().array() += roughness * roughness;
  beyond.covariance *= known.caution;
  return log_energies(std::move(beyond), known.cost, base_w_, places, times);
}

}  // namespace ampere
