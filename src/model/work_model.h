// What calls cost on a device, learned from all that was measured of it, layers and captured parts alike:
// the one model (docs/one_model.md). It tells what nobody has measured, and how sure that is.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gp/sum_process.h"
#include "model/data_sheet.h"
#include "model/roof.h"
#include "model/work_covariance.h"

namespace ampere {

// Work that was measured. `place` tells work that is the very same, wherever it occurs.
struct MeasuredWork {
  std::string place;
  std::vector<CountedWork> works;
  double time_s = 0;
  double time_error = 0.01;  // relative standard errors
  std::optional<double> energy_j;
  double energy_error = 0.02;
  std::optional<double> host_s;
  Where where = Where::kHere;
};

struct AskedWork {
  std::string place;
  std::vector<CountedWork> works;
  std::optional<double> time_s = {};  // where more is known of it than is told here: powers go by it
};

// Of several works; errors of works that are alike go together. Covariances are of logarithms.
struct WorkCosts {
  Eigen::VectorXd time_s, energy_j;
  Eigen::MatrixXd time_covariance, energy_covariance;
};

// The same as it is believed, without the caution that answers are given: how far measuring one work would
// tell the others. Powers beside times: logarithms of energies are their sums.
struct WorkBelief {
  Eigen::VectorXd time_s, power_w;
  Eigen::MatrixXd time_covariance, power_covariance;
};

class WorkModel {
 public:
  // `relation`: how the device is related to the one elsewhere that some of it was measured on.
  WorkModel(std::vector<MeasuredWork> seen, bool accelerator, const Relation& relation = {});
  // Around a data sheet, which tells what was not measured: nothing need be.
  WorkModel(std::vector<MeasuredWork> seen, const DataSheet& sheet, const Relation& relation = {});

  // Throws Error{kNotProfiled} where nothing was measured, Error{kFailed} where no energy was.
  WorkCosts at(const std::vector<AskedWork>& asked) const;
  // The same without covariances, which take most of the time: for those who ask about thousands.
  WorkCosts means(const std::vector<AskedWork>& asked) const;
  // Nothing need have been measured.
  WorkBelief believed(const std::vector<AskedWork>& asked) const;
  // What the host takes to issue them, by how many calls they are.
  double host_s(const std::vector<CountedWork>& works) const;
  // Whether anything is known of both time and energy.
  bool tells() const { return sheet_ || (!places_.empty() && !power_places_.empty()); }
  std::size_t size() const { return places_.size(); }
  const Roof& roof() const { return roof_; }

 private:
  struct Points;
  struct Told;
  WorkModel(std::vector<MeasuredWork> seen, bool accelerator, std::optional<DataSheet> sheet,
            const Relation& relation);
  Points points_of(const std::vector<AskedWork>& asked) const;
  Told told_of(const std::vector<AskedWork>& asked, bool how_sure) const;
  void require_known() const;
  double log_power_mean(const OpWork& work, double time_s) const;
  void believe_sheet(const std::vector<AskedWork>& asked, WorkCosts& costs) const;

  std::optional<DataSheet> sheet_;
  Roof roof_;
  Relation relation_;
  mutable WorkNames names_;
  std::map<std::string, int> places_;        // to rows of time_
  std::map<std::string, int> power_places_;  // to rows of power_
  std::vector<WorkPoint> time_points_;
  std::vector<RatePoint> power_points_;
  std::unique_ptr<SumProcess> time_, power_;
  double mean_log_power_ = 0;
  double host_per_call_s_ = 0;
};

}  // namespace ampere
