#include "model/sum.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/deadline.h"

namespace ampere {

std::map<std::string, std::string> surface_map(const std::vector<SurfacePlan>& plans, Phase phase) {
  std::map<std::string, std::string> map;
  for (const SurfacePlan& p : plans) {
    if (p.phase == phase) map[p.layer_key] = p.key;
  }
  return map;
}

namespace {

using Predict = std::function<SurfacePrediction(const std::string& key, const std::vector<Channels>& places)>;

using Members = std::map<std::string, std::vector<std::size_t>>;  // layers by surface
using Places = std::map<std::pair<std::string, Channels>, std::vector<std::size_t>>;

// How well a layer is known once it was measured: how well its cost comes again.
constexpr double kMeasuredEagerly = 0.03;
constexpr double kMeasuredReplayed = 0.01;

// Layers that nobody measured, as what else was measured on the device tells them.
void add_unmeasured(const LayerModels& models, const Places& members, bool energy, LayerSum& sum) {
  if (members.empty()) return;
  std::vector<LayerPlace> places;
  Eigen::VectorXd count(static_cast<Eigen::Index>(members.size()));
  for (const auto& [place, same] : members) {
    count(static_cast<Eigen::Index>(places.size())) = static_cast<double>(same.size());
    places.push_back({place.first, place.second});
  }
  const WorkCosts& costs = models.unmeasured(places);
  const Eigen::VectorXd& mean = energy ? costs.energy_j : costs.time_s;
  const Eigen::MatrixXd& covariance = energy ? costs.energy_covariance : costs.time_covariance;
  const Eigen::VectorXd weights = count.cwiseProduct(mean);
  const double measured = models.profile().two_clocks() ? kMeasuredReplayed : kMeasuredEagerly;
  sum.mean += weights.sum();
  sum.unmeasured += weights.sum();
  sum.unmeasured_places += static_cast<int>(members.size());
  sum.variance += std::max(0.0, weights.dot(covariance * weights));
  sum.variance_if_measured += measured * measured * weights.squaredNorm();
  Eigen::Index row = 0;
  for (const auto& [place, same] : members) {
    for (std::size_t i : same) {
      sum.layer_mean[i] = mean(row);
      sum.layer_deviation[i] = mean(row) * std::sqrt(std::max(0.0, covariance(row, row)));
    }
    ++row;
  }
}

LayerSum sum_by(const LayerModels& models, const Predict& predict, bool energy,
                const std::vector<Layer>& layers, const std::map<std::string, std::string>& surface_of) {
  LayerSum sum;
  sum.layer_mean.resize(layers.size());
  sum.layer_deviation.resize(layers.size());
  Members by_surface;
  Places unmeasured;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string& key = surface_of.at(layers[i].key());
    if (models.told(key, layers[i].channels))
      unmeasured[{key, layers[i].channels}].push_back(i);
    else
      by_surface[key].push_back(i);
  }
  add_unmeasured(models, unmeasured, energy, sum);
  const double of_unmeasured = sum.variance;
  for (const auto& [key, members] : by_surface) {
    check_deadline();
    // Deep networks repeat the same layer many times: predict each place once, count it often.
    std::map<Channels, std::vector<std::size_t>> by_place;
    for (std::size_t i : members) by_place[layers[i].channels].push_back(i);
    std::vector<Channels> places;
    Eigen::VectorXd count(static_cast<Eigen::Index>(by_place.size()));
    for (const auto& [place, same] : by_place) {
      count(static_cast<Eigen::Index>(places.size())) = static_cast<double>(same.size());
      places.push_back(place);
    }
    const SurfacePrediction p = predict(key, places);
    sum.mean += count.dot(p.mean);
    sum.variance += std::max(0.0, count.dot(p.covariance * count));
    Eigen::Index row = 0;
    for (const auto& [place, same] : by_place) {
      const double deviation = std::sqrt(std::max(0.0, p.covariance(row, row)));
      for (std::size_t i : same) {
        sum.layer_mean[i] = p.mean(row);
        sum.layer_deviation[i] = deviation;
      }
      ++row;
    }
  }
  sum.variance_if_measured += sum.variance - of_unmeasured;
  return sum;
}

}  // namespace

LayerSum sum_layers(const LayerModels& models, const std::vector<Layer>& layers,
                    const std::map<std::string, std::string>& surface_of, Quantity quantity) {
  return sum_by(
      models,
      [&](const std::string& key, const std::vector<Channels>& places) {
        return models.model(key, quantity).at(places);
      },
      quantity == Quantity::kEnergy, layers, surface_of);
}

LayerSum sum_energies(const LayerModels& models, const std::vector<Layer>& layers,
                      const std::map<std::string, std::string>& surface_of) {
  return sum_by(
      models,
      [&](const std::string& key, const std::vector<Channels>& places) {
        return models.energies(key, places);
      },
      true, layers, surface_of);
}

}  // namespace ampere
