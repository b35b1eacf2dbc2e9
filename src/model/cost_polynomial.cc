#include "model/cost_polynomial.h"

#include <Eigen/Dense>
#include <numeric>
#include <vector>

#include "network/cost.h"

namespace ampere {
namespace {

// Multiples of what groups and heads ask for, so that every kind can be built at them.
std::int64_t unit_of(const LayerKind& kind) {
  std::int64_t unit = static_cast<std::int64_t>(kind.inputs.size());
  for (const Node& op : kind.ops) {
    if (op.op == Op::kConv1d || op.op == Op::kConv2d || op.op == Op::kConvTranspose2d)
      unit = std::lcm(unit, std::max<std::int64_t>(1, op.integer("groups")));
    if (op.op == Op::kGroupNorm || op.op == Op::kChannelShuffle) unit = std::lcm(unit, op.integer("groups"));
    if (op.op == Op::kAttention || op.op == Op::kEncoderLayer) unit = std::lcm(unit, op.integer("heads"));
    if (op.op == Op::kAttentionCore)
      unit = std::lcm(unit, op.integer("heads") * (kind.inputs.size() == 1 ? 3 : 1));
  }
  return unit;
}

std::vector<Channels> sample_points(const LayerKind& kind) {
  const std::int64_t u = unit_of(kind);
  const std::vector<std::int64_t> sizes = {4 * u, 8 * u, 12 * u};
  std::vector<Channels> points;
  switch (kind.surface) {
    case Surface::kPoint:
      return {kind.fixed};
    case Surface::kTied:
      for (std::int64_t s : sizes) points.push_back({s, s});
      return points;
    case Surface::kOut:
      for (std::int64_t s : sizes) points.push_back({kind.fixed.in, s});
      return points;
    case Surface::kIn:
      for (std::int64_t s : sizes) points.push_back({s, kind.fixed.out});
      return points;
    case Surface::kInOut:
      for (std::int64_t a : sizes) {
        for (std::int64_t b : sizes) points.push_back({a, b});
      }
  }
  return points;
}

}  // namespace

CostPolynomial::CostPolynomial(const LayerKind& kind, bool input_grad) {
  const std::vector<Channels> points = sample_points(kind);
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd terms(n, 6);
  Eigen::MatrixXd values(n, 3);
  for (Eigen::Index r = 0; r < n; ++r) {
    const Channels c = points[static_cast<std::size_t>(r)];
    const auto i = static_cast<double>(c.in);
    const auto o = static_cast<double>(c.out);
    terms.row(r) << 1, i, o, i * o, i * i, o * o;
    const Cost cost = network_cost(build_layer(kind, c), kind.batch, input_grad);
    values.row(r) << cost.flops(), cost.bytes(), cost.parameters;
  }
  // Fewer points than terms where a channel number is fixed: any solution is right on the surface.
  const Eigen::VectorXd scale = terms.cwiseAbs().colwise().maxCoeff().cwiseMax(1.0);
  const Eigen::MatrixXd solution =
      scale.cwiseInverse().asDiagonal() *
      (terms * scale.cwiseInverse().asDiagonal()).completeOrthogonalDecomposition().solve(values).eval();
  for (std::size_t k = 0; k < 6; ++k) {
    flops_[k] = solution(static_cast<Eigen::Index>(k), 0);
    bytes_[k] = solution(static_cast<Eigen::Index>(k), 1);
    parameters_[k] = solution(static_cast<Eigen::Index>(k), 2);
  }
}

}  // namespace ampere
