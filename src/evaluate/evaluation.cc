#include "evaluate/evaluation.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/csv.h"
#include "model/nnls.h"

namespace ampere {
namespace {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

// Least relative squares of energy over some of (1, FLOPs, bytes), coefficients not negative.
MethodResult fit_baseline(const std::string& name, const std::vector<TruthPoint>& truth, bool intercept,
                          bool bytes) {
  const auto n = static_cast<Eigen::Index>(truth.size());
  Eigen::MatrixXd terms = Eigen::MatrixXd::Zero(n, 3);
  for (Eigen::Index i = 0; i < n; ++i) {
    const TruthPoint& t = truth[static_cast<std::size_t>(i)];
    terms.row(i) << (intercept ? 1 : 0), t.flops, (bytes ? t.bytes : 0);
  }
  Eigen::VectorXd energy(n);
  for (Eigen::Index i = 0; i < n; ++i) energy(i) = truth[static_cast<std::size_t>(i)].energy_j;
  const Eigen::VectorXd scale = terms.colwise().maxCoeff().cwiseMax(1e-300).transpose();
  const Eigen::MatrixXd relative =
      energy.cwiseInverse().asDiagonal() * terms * scale.cwiseInverse().asDiagonal();
  const Eigen::VectorXd k =
      nonnegative_least_squares(relative, Eigen::VectorXd::Ones(n)).cwiseQuotient(scale);
  std::vector<MethodPoint> points;
  for (Eigen::Index i = 0; i < n; ++i) points.push_back({terms.row(i).dot(k), std::nullopt, 0, 0});
  return judge(name, std::move(points), truth);
}

}  // namespace

MethodResult judge(std::string name, std::vector<MethodPoint> points, const std::vector<TruthPoint>& truth) {
  MethodResult r;
  r.name = std::move(name);
  std::vector<double> errors;
  double time_sum = 0;
  double given_time_sum = 0;
  int inside = 0, intervals = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double off = points[i].energy_j / truth[i].energy_j - 1;
    errors.push_back(std::abs(off));
    r.bias += off;
    if (points[i].time_s > 0) time_sum += std::abs(points[i].time_s / truth[i].time_s - 1);
    if (points[i].energy_at_true_time_j > 0) {
      given_time_sum += std::abs(points[i].energy_at_true_time_j / truth[i].energy_j - 1);
    }
    if (points[i].interval) {
      ++intervals;
      if (truth[i].energy_j >= points[i].interval->low && truth[i].energy_j <= points[i].interval->high)
        ++inside;
    }
  }
  const double n = std::max<double>(1, static_cast<double>(points.size()));
  for (double e : errors) r.mape += e / n;
  r.bias /= n;
  r.time_mape = time_sum / n;
  if (given_time_sum > 0) r.mape_at_true_time = given_time_sum / n;
  r.median = quantile(errors, 0.5);
  r.p95 = quantile(errors, 0.95);
  if (intervals > 0) r.coverage = static_cast<double>(inside) / intervals;
  r.points = std::move(points);
  return r;
}

std::vector<MethodResult> baselines(const std::vector<TruthPoint>& truth) {
  return {fit_baseline("flops", truth, false, false), fit_baseline("flops-affine", truth, true, false),
          fit_baseline("flops-bytes", truth, true, true)};
}

std::string to_csv(const Evaluation& e) {
  std::ostringstream out;
  out.precision(9);
  out << "network,flops,bytes,measured_energy_j,measured_time_s,repeat_difference,method,energy_j,energy_low_"
         "j,energy_high_j,"
         "time_s\n";
  for (std::size_t i = 0; i < e.truth.size(); ++i) {
    const TruthPoint& t = e.truth[i];
    for (const MethodResult& m : e.methods) {
      const MethodPoint& p = m.points[i];
      out << csv_cell(t.network) << ',' << t.flops << ',' << t.bytes << ',' << t.energy_j << ',' << t.time_s
          << ',' << t.again << ',' << csv_cell(m.name) << ',' << p.energy_j << ',';
      if (p.interval)
        out << p.interval->low << ',' << p.interval->high;
      else
        out << ',';
      out << ',';
      if (p.time_s > 0) out << p.time_s;
      out << '\n';
    }
  }
  return out.str();
}

Json to_json(const Evaluation& e) {
  Json methods = Json::object();
  for (const MethodResult& m : e.methods) {
    methods[m.name] = {{"mape", m.mape},
                       {"median", m.median},
                       {"p95", m.p95},
                       {"bias", m.bias},
                       {"time_mape", m.time_mape > 0 ? Json(m.time_mape) : Json(nullptr)},
                       {"coverage", m.coverage ? Json(*m.coverage) : Json(nullptr)}};
    if (m.mape_at_true_time) methods[m.name]["mape_at_true_time"] = *m.mape_at_true_time;
    if (m.probe_s > 0) methods[m.name]["probe_time_s"] = m.probe_s;
  }
  Json networks = Json::array();
  for (std::size_t i = 0; i < e.truth.size(); ++i) {
    const TruthPoint& t = e.truth[i];
    Json estimates = Json::object();
    for (const MethodResult& m : e.methods) {
      const MethodPoint& p = m.points[i];
      estimates[m.name] = {{"energy_j", p.energy_j}};
      if (p.interval) {
        estimates[m.name]["energy_low_j"] = p.interval->low;
        estimates[m.name]["energy_high_j"] = p.interval->high;
      }
      if (p.time_s > 0) estimates[m.name]["time_s"] = p.time_s;
    }
    networks.push_back({{"network", t.network},
                        {"flops", t.flops},
                        {"bytes", t.bytes},
                        {"energy_j", t.energy_j},
                        {"time_s", t.time_s},
                        {"repeat_difference", t.again},
                        {"passes", t.passes},
                        {"estimates", std::move(estimates)}});
  }
  return {{"noise_floor", e.noise_floor}, {"methods", std::move(methods)}, {"networks", std::move(networks)}};
}

}  // namespace ampere
