#include "prune/cost_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/deadline.h"
#include "estimate/estimate.h"
#include "model/cost_polynomial.h"

namespace ampere {
namespace {

// Predictions come with covariances, which grow with the square of the places asked for at once.
constexpr std::size_t kPlacesAtOnce = 32;
// Those that calls tell come without.
constexpr std::size_t kToldAtOnce = 256;

struct Cell {
  double energy_j = std::numeric_limits<double>::quiet_NaN();  // not computed yet
  double time_s = 0;
  double flops = 0;
  double parameters = 0;
};

// One side of a layer: from the choice of its groups to a row or column, and what width that is.
class Axis {
 public:
  Axis(const ChannelSum& sum, const std::vector<std::vector<std::int64_t>>& numbers) {
    std::int64_t step = 0, low = sum.constant;
    for (const auto& [group, factor] : sum.parts) {
      const auto& own = numbers[static_cast<std::size_t>(group)];
      low += factor * own.front();
      for (std::int64_t n : own) step = std::gcd(step, factor * (n - own.front()));
    }
    if (sum.parts.size() == 1) {  // rows are the choices themselves
      for (std::int64_t n : numbers[static_cast<std::size_t>(sum.parts[0].group)])
        widths_.push_back(sum.constant + sum.parts[0].factor * n);
      groups_ = {sum.parts[0].group};
      return;
    }
    std::int64_t rows = 1;
    for (const auto& [group, factor] : sum.parts) {
      const auto& own = numbers[static_cast<std::size_t>(group)];
      std::vector<std::size_t> offsets;
      for (std::int64_t n : own)
        offsets.push_back(step ? static_cast<std::size_t>(factor * (n - own.front()) / step) : 0);
      rows += static_cast<std::int64_t>(offsets.back());
      groups_.push_back(group);
      offsets_.push_back(std::move(offsets));
    }
    for (std::int64_t r = 0; r < rows; ++r) widths_.push_back(low + r * step);
  }

  std::size_t at(const Choice& choice) const {
    if (offsets_.empty()) return groups_.empty() ? 0 : choice[static_cast<std::size_t>(groups_[0])];
    std::size_t row = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      row += offsets_[i][choice[static_cast<std::size_t>(groups_[i])]];
    return row;
  }
  std::size_t size() const { return widths_.size(); }
  std::int64_t width(std::size_t row) const { return widths_[row]; }

 private:
  std::vector<int> groups_;
  std::vector<std::vector<std::size_t>> offsets_;  // per group and choice; empty for a single group
  std::vector<std::int64_t> widths_;
};

}  // namespace

struct CostTables::Table {
  std::string surface;  // key of its surface
  PrunableNetwork::Widths widths;
  bool tied;  // one number for both sides
  double count = 1;
  CostPolynomial polynomial;
  Axis in, out;
  std::vector<Cell> cells = {};  // row by row
};

CostTables::CostTables(const PrunableNetwork& network, std::vector<std::vector<std::int64_t>> numbers,
                       const LayerModels* models, MeasureMode mode)
    : network_(network), numbers_(std::move(numbers)), models_(models) {
  for (std::size_t i = 0; i < network.layers().size(); ++i) add_layer(i);
  if (!models) return;
  const DeviceProfile& profile = models->profile();
  parts_ = split_parts(*models, network.layers());
  parts_.times = parts_.energies = {};
  parts_.device_s = parts_.two_clocks ? 0 : profile.empty(Quantity::kTime);
  parts_.device_j = parts_.two_clocks ? 0 : profile.empty(Quantity::kEnergy);
  scratch_ = parts_;
  const std::string family = family_of(network.network(), network.batch());
  factors_ = split_factors(profile, family);
  idle_w_ = profile.idle_power_w().value_or(0);
  if (parts_.two_clocks && mode == MeasureMode::kReplay) {
    parts_.host_s = 0;  // nobody issues what is replayed, and its parts carry their factors already
    parts_.host_s_variance = 0;
  } else {
    energy_factor_ = std::exp(composition_of(profile, kSplit, family, Part::kEnergy).log_bias);
  }
}

CostTables::~CostTables() = default;

void CostTables::add_layer(std::size_t index) {
  const Layer& layer = network_.layers()[index];
  const PrunableNetwork::Widths& widths = network_.widths()[index];
  const std::string surface = layer_surface(kSplit, layer.role, layer.kind).name;
  for (Table& t : tables_) {
    if (t.surface != surface || t.widths.in != widths.in || t.widths.out != widths.out) continue;
    t.count += 1;
    return;
  }
  const bool tied = layer.kind.surface == Surface::kTied;
  Table table{surface,
              widths,
              tied,
              1,
              CostPolynomial(layer.kind, hands_gradient_down(layer.role)),
              Axis(widths.in, numbers_),
              Axis(tied ? ChannelSum{} : widths.out, numbers_)};
  table.cells.resize(table.in.size() * table.out.size());
  tables_.push_back(std::move(table));
}

void CostTables::fill(Table& t, std::size_t row) {
  const auto place_of = [&](std::size_t cell) -> Channels {
    const std::int64_t in = t.in.width(cell / t.out.size());
    return {in, t.tied ? in : t.out.width(cell % t.out.size())};
  };
  std::vector<std::size_t> by_surface, told;
  for (std::size_t cell = row * t.out.size(); cell < (row + 1) * t.out.size(); ++cell)
    (models_ && models_->told(t.surface, place_of(cell)) ? told : by_surface).push_back(cell);
  // What calls tell, they tell of many places nearly as fast as of one: neighbours have most calls in common.
  if (!told.empty()) {
    told.clear();
    for (std::size_t cell = 0; cell < t.cells.size(); ++cell) {
      if (std::isnan(t.cells[cell].energy_j) && models_->told(t.surface, place_of(cell)))
        told.push_back(cell);
    }
  }
  const auto in_turn = [&](const std::vector<std::size_t>& cells, std::size_t together,
                           const auto& costs_of) {
    for (std::size_t begin = 0; begin < cells.size(); begin += together) {
      check_deadline();
      std::vector<Channels> places;
      for (std::size_t i = begin; i < std::min(begin + together, cells.size()); ++i)
        places.push_back(place_of(cells[i]));
      Eigen::VectorXd energies = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(places.size()));
      Eigen::VectorXd times = energies;
      if (models_) costs_of(places, energies, times);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const auto at = static_cast<Eigen::Index>(k);
        t.cells[cells[begin + k]] = {t.count * energies(at), t.count * times(at),
                                     t.count * t.polynomial.flops(places[k]),
                                     t.count * t.polynomial.parameters(places[k])};
      }
    }
  };
  in_turn(by_surface, kPlacesAtOnce,
          [&](const std::vector<Channels>& places, Eigen::VectorXd& energies, Eigen::VectorXd& times) {
            energies = models_->energies(t.surface, places).mean;
            times = models_->model(t.surface, Quantity::kTime).at(places).mean;
          });
  in_turn(told, kToldAtOnce,
          [&](const std::vector<Channels>& places, Eigen::VectorXd& energies, Eigen::VectorXd& times) {
            std::vector<LayerPlace> asked;
            asked.reserve(places.size());
            for (const Channels& place : places) asked.push_back({t.surface, place});
            const WorkCosts costs = models_->unmeasured_means(asked);
            energies = costs.energy_j;
            times = costs.time_s;
          });
}

double CostTables::composed(double device_s, double device_j) {
  scratch_.device_s = parts_.device_s + device_s;
  scratch_.device_j = parts_.device_j + device_j;
  scratch_.host_s = parts_.host_s;
  scratch_.device_s_variance = scratch_.device_j_variance = scratch_.host_s_variance = 0;
  apply(factors_, scratch_);
  return compose(scratch_, idle_w_).energy_j * energy_factor_;
}

CandidateCost CostTables::cost(const Choice& choice) {
  double energy_j = 0, time_s = 0, flops = 0, parameters = 0;
  for (Table& t : tables_) {
    const std::size_t row = t.in.at(choice);
    const std::size_t at = row * t.out.size() + t.out.at(choice);
    if (std::isnan(t.cells[at].energy_j)) fill(t, row);
    const Cell& cell = t.cells[at];
    energy_j += cell.energy_j;
    time_s += cell.time_s;
    flops += cell.flops;
    parameters += cell.parameters;
  }
  return {models_ ? composed(time_s, energy_j) : 0, flops, parameters};
}

std::vector<std::int64_t> CostTables::channels(const Choice& choice) const {
  std::vector<std::int64_t> out;
  for (std::size_t g = 0; g < choice.size(); ++g) out.push_back(numbers_[g][choice[g]]);
  return out;
}

}  // namespace ampere
