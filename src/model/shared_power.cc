#include "model/shared_power.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/surface_model.h"

namespace ampere {
namespace {

constexpr std::size_t kLeastKinds = 3;
// Fewest points beyond the number of coefficients (one factor per kind, three slopes) that the process is
// fitted to.
constexpr Eigen::Index kLeastSpare = 11;
// Most points that hyperparameters are fitted to: each evaluation of the likelihood costs the cube of this.
// Predictions use all points.
constexpr Eigen::Index kMostFitted = 240;
// Weight, in points, of the prior belief that the predicted variances are right (caution).
constexpr double kPriorPoints = 4;
constexpr int kFolds = 5;  // of the cross-validation behind caution
// Most distinct kernels that are used as inputs; a device with many profiled families has run some 200.
constexpr Eigen::Index kMostMarks = 2000;

GpOptions shared_options(Eigen::Index marks) {
  GpOptions options = default_surface_options().gp;
  options.kernel = KernelType::kMatern52;
  options.restarts = 1;
  options.evaluations = 60;
  options.one_scale = marks;
  return options;
}

constexpr Eigen::Index kRates = 3;

Eigen::Index columns_of(PowerInputs inputs) { return inputs == PowerInputs::kRates ? kRates : 5; }

// Columns of the mean: a factor of each kind, and behind them slopes by the rates, which kinds and kernels
// have in common.
Eigen::MatrixXd with_slopes(const Eigen::MatrixXd& factors, const Eigen::MatrixXd& x) {
  Eigen::MatrixXd both(factors.rows(), factors.cols() + kRates);
  both << factors, x.leftCols(kRates);
  return both;
}

// Whether the columns are linearly independent, so that each coefficient can be estimated.
bool can_be_told(const Eigen::MatrixXd& columns) {
  constexpr double kDependent = 1e-4;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  qr.setThreshold(kDependent);
  return qr.compute(columns.colwise().normalized()).rank() == columns.cols();
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

// Every nth, and the first of each of so many kinds, so that no kind goes without.
GpData thinned(const GpData& all, Eigen::Index n, Eigen::Index kinds) {
  std::vector<Eigen::Index> rows;
  const auto factors = all.basis.leftCols(kinds);
  for (Eigen::Index i = 0; i < all.x.rows(); ++i) {
    if (i % n == 0 || factors.row(i) != factors.row(i - 1)) rows.push_back(i);
  }
  return rows_of(all, rows);
}

// Cross-validation: (observed - predicted) / predicted deviation of each observation, with a fifth of every
// kind held back at a time. Leaving out single points would be too easy, since similar kinds are measured at
// the same places. NaN where the points that are left cannot determine the coefficients.
Eigen::VectorXd held_back(const Gp& gp, Eigen::Index kinds) {
  const GpData& data = gp.data();
  const auto factors = data.basis.leftCols(kinds);
  Eigen::VectorXd off = Eigen::VectorXd::Constant(gp.size(), std::nan(""));
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<Eigen::Index> kept, out;
    Eigen::RowVectorXd seen = Eigen::RowVectorXd::Zero(kinds);
    for (Eigen::Index i = 0; i < gp.size(); ++i) {
      const auto of_kind = static_cast<int>(seen.dot(factors.row(i)));
      (of_kind > 0 && of_kind % kFolds == fold ? out : kept).push_back(i);  // a kind keeps its first
      seen += factors.row(i);
    }
    GpData rest_of_data = rows_of(data, kept);
    if (out.empty() || !can_be_told(rest_of_data.basis)) continue;
    const Gp rest = Gp::with_hyperparameters(std::move(rest_of_data), gp.hyperparameters(),
                                             shared_options(0));  // nothing is fitted
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

SharedPower::SharedPower(Gp gp, std::map<std::string, Known> kinds, double base_w, PowerInputs inputs,
                         KernelMarks marks)
    : gp_(std::move(gp)),
      kinds_(std::move(kinds)),
      base_w_(base_w),
      inputs_(inputs),
      marks_(std::move(marks)) {
  const Eigen::VectorXd off = held_back(gp_, static_cast<Eigen::Index>(kinds_.size()));
  for (auto& [key, kind] : kinds_) {
    double squares = kPriorPoints, count = kPriorPoints;
    for (Eigen::Index i = 0; i < off.size(); ++i) {
      if (gp_.data().basis(i, kind.column) == 0 || std::isnan(off(i))) continue;
      squares += off(i) * off(i);
      ++count;
    }
    kind.caution = std::clamp(squares / count, 1.0, 16.0);
  }
}

std::shared_ptr<const SharedPower> SharedPower::fit(const std::map<std::string, PowerOfKind>& kinds,
                                                    double idle_w, PowerInputs inputs) {
  std::map<std::string, Known> known;
  std::map<std::string, std::vector<PowerObservation>> used;
  std::vector<PowerObservation> all;
  std::vector<Kernels> ran;
  for (const auto& [key, kind] : kinds) {
    for (const PowerObservation& o : kind.observations) {
      if (inputs == PowerInputs::kKernels) {
        if (o.kernels.empty()) continue;
        ran.push_back(o.kernels);
      }
      used[key].push_back(o);
      all.push_back(o);
    }
    if (used.count(key)) known.emplace(key, Known{kind.cost, static_cast<Eigen::Index>(known.size()), 1});
  }
  const auto n = static_cast<Eigen::Index>(all.size()), p = static_cast<Eigen::Index>(known.size());
  if (known.size() < kLeastKinds || n < p + kLeastSpare) return nullptr;
  const double base_w = base_power(idle_w, all);
  const KernelMarks marks(ran);
  if (marks.columns() > kMostMarks) return nullptr;
  const Eigen::Index own = columns_of(inputs);
  const Eigen::Index marked = ran.empty() ? 0 : marks.columns();
  GpData data{Eigen::MatrixXd(n, own + marked), Eigen::VectorXd(n), Eigen::MatrixXd::Zero(n, p),
              Eigen::VectorXd(n)};
  Eigen::Index row = 0;
  for (const auto& [key, kind] : known) {
    const PowerData seen = energy_over_work(kind.cost, used.at(key), base_w);
    const Eigen::Index m = seen.y.size();
    data.x.middleRows(row, m).leftCols(own) = seen.x.leftCols(own);
    data.y.segment(row, m) = seen.y;
    data.noise_weights.segment(row, m) = seen.noise_weights;
    data.basis.block(row, kind.column, m, 1).setOnes();
    row += m;
  }
  if (marked > 0) data.x.rightCols(marked) = marks(ran);
  const GpOptions options = shared_options(marked);
  const Eigen::Index step = (n + kMostFitted - 1) / kMostFitted;
  const Eigen::MatrixXd sloped = with_slopes(data.basis, data.x);
  if (can_be_told(sloped) &&
      can_be_told(thinned({data.x, data.y, sloped, data.noise_weights}, step, p).basis))
    data.basis = sloped;
  const auto made = [&](Gp gp) {
    return std::shared_ptr<const SharedPower>(new SharedPower(std::move(gp), known, base_w, inputs, marks));
  };
  if (step == 1) return made(Gp::fit(std::move(data), options));
  const Gp some = Gp::fit(thinned(data, step, p), options);
  return made(Gp::with_hyperparameters(std::move(data), some.hyperparameters(), options));
}

GpJointPrediction SharedPower::log_energy(const std::string& kind, const std::vector<Channels>& places,
                                          const Eigen::VectorXd& times,
                                          const std::vector<Kernels>& kernels) const {
  if (inputs_ == PowerInputs::kKernels && kernels.size() != places.size())
    throw Error(ErrorKind::kFailed, "power by kernels needs the kernels of every place");
  const Known& known = kinds_.at(kind);
  const Eigen::Index own = columns_of(inputs_);
  Eigen::MatrixXd x(times.size(), gp_.data().x.cols());
  x.leftCols(own) = rates_and_channels(known.cost, places, times).leftCols(own);
  if (inputs_ == PowerInputs::kKernels) x.rightCols(x.cols() - own) = marks_(kernels);
  Eigen::MatrixXd basis = Eigen::MatrixXd::Zero(x.rows(), gp_.basis_size());
  basis.col(known.column).setOnes();
  if (basis.cols() > static_cast<Eigen::Index>(kinds_.size())) basis.rightCols(kRates) = x.leftCols(kRates);
  GpJointPrediction beyond = gp_.joint(x, basis);
  const double roughness = gp_.hyperparameters().noise_sd;
  beyond.covariance.diagonal().array() += roughness * roughness;
  beyond.covariance *= known.caution;
  return log_energies(std::move(beyond), known.cost, base_w_, places, times);
}

}  // namespace ampere
