#include "schedule/assignment.h"

#include <memory>

#include "base/error.h"
#include "schedule/cbc.h"

namespace ampere {
namespace {

struct DeleteModel {
  void operator()(Cbc_Model* model) const { cbc().delete_model(model); }
};

class Program {
 public:
  explicit Program(const Workshop& workshop) : workshop_(workshop), model_(cbc().new_model()) {
    column_.assign(workshop.job_count() * workshop.device_count(), -1);
    for (std::size_t j = 0; j < workshop.job_count(); ++j) {
      for (std::size_t d = 0; d < workshop.device_count(); ++d) {
        if (!workshop.demand(j, d).possible) continue;
        column(j, d) = static_cast<int>(pairs_.size());
        pairs_.push_back({j, d});
        cbc().add_col(model_.get(), "", 0, 1, -workshop.problem.jobs[j].value, 1, 0, nullptr, nullptr);
      }
    }
    for (std::size_t j = 0; j < workshop.job_count(); ++j) {
      add_difference(columns_of(j), {}, 1);
      for (std::size_t other : workshop.problem.jobs[j].depends_on)
        add_difference(columns_of(j), columns_of(other), 0);
    }
  }

  void add(const Limit& limit) {
    std::vector<int> columns;
    std::vector<double> weights;
    for (const Limit::Term& t : limit.terms) {
      const int c = column(t.pair.job, t.pair.device);
      if (c < 0) continue;
      columns.push_back(c);
      weights.push_back(t.weight);
    }
    add_row(columns, weights, limit.most);
  }

  Assignment solve() {
    if (pairs_.empty()) return {};
    cbc().set_log_level(model_.get(), 0);
    cbc().set_allowable_gap(model_.get(), 1e-9);
    cbc().set_parameter(model_.get(), "ratioGap", "0");
    if (cbc().solve(model_.get()) != 0 || !cbc().is_proven_optimal(model_.get()))
      throw Error(ErrorKind::kFailed, "CBC found no best assignment; try --solver heuristic");
    Assignment found;
    found.value = -cbc().objective(model_.get());
    const double* solution = cbc().solution(model_.get());
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (solution[i] > 0.5) found.chosen.push_back(pairs_[i]);
    }
    return found;
  }

 private:
  int& column(std::size_t job, std::size_t device) {
    return column_[job * workshop_.device_count() + device];
  }

  std::vector<int> columns_of(std::size_t job) {
    std::vector<int> columns;
    for (std::size_t d = 0; d < workshop_.device_count(); ++d) {
      if (column(job, d) >= 0) columns.push_back(column(job, d));
    }
    return columns;
  }

  // sum of plus less sum of minus <= most
  void add_difference(std::vector<int> plus, const std::vector<int>& minus, double most) {
    std::vector<double> weights(plus.size(), 1);
    weights.insert(weights.end(), minus.size(), -1);
    plus.insert(plus.end(), minus.begin(), minus.end());
    add_row(plus, weights, most);
  }

  void add_row(const std::vector<int>& columns, const std::vector<double>& weights, double most) {
    if (columns.empty()) return;
    cbc().add_row(model_.get(), "", static_cast<int>(columns.size()), columns.data(), weights.data(), 'L',
                  most);
  }

  const Workshop& workshop_;
  std::unique_ptr<Cbc_Model, DeleteModel> model_;
  std::vector<Assigned> pairs_;  // by column
  std::vector<int> column_;      // by job and device; -1: not possible
};

}  // namespace

Assignment best_assignment(const Workshop& workshop, const std::vector<Limit>& limits) {
  Program program(workshop);
  for (const Limit& limit : limits) program.add(limit);
  return program.solve();
}

}  // namespace ampere
