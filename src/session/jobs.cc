#include "session/jobs.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "ampere/schedule.h"
#include "base/error.h"
#include "estimate/estimate.h"
#include "measure/recipe.h"
#include "model/composition.h"
#include "session/load_model.h"
#include "session/session.h"
#include "store/address.h"

namespace ampere {
namespace {

// Costs of the jobs that are given as networks, by the profiles of the devices.
class Estimator {
 public:
  Estimator(const JobCostOptions& o, JobsFile& file) : options_(o), file_(file) {}

  // Returns whether any figure comes from a modelled meter.
  bool run() {
    for (std::size_t j = 0; j < file_.training.size(); ++j) {
      if (!file_.training[j]) continue;
      const TrainingJob& job = *file_.training[j];
      ScheduleJob& row = file_.problem.jobs[j];
      const std::string where = options_.file + ": job \"" + row.name + "\": ";
      try {
        find_method(job.method);
        const Network& network = network_of(job.network);
        if (row.kind.empty()) row.kind = family_of(network, job.batch) + "/" + job.recipe.word();
        for (std::size_t d = 0; d < row.costs.size(); ++d) {
          if (file_.allowed[j][d]) estimate(job, network, d, row);
        }
      } catch (const Error& e) {
        throw Error(e.kind(), where + e.what());
      }
    }
    return modelled_;
  }

 private:
  // Paths in the file are meant from where the file is.
  std::string beside_file(const std::string& path) const {
    if (is_server(path)) return path;
    const std::filesystem::path given(path);
    return given.is_absolute() ? path : (std::filesystem::path(options_.file).parent_path() / given).string();
  }

  const Network& network_of(const std::string& text) {
    const auto found = networks_.find(text);
    if (found != networks_.end()) return found->second;
    const bool file = std::filesystem::path(text).has_extension() && text.find(':') == std::string::npos;
    const ModelSource source{file ? beside_file(text) : text, 1, {}, {}};
    return networks_.emplace(text, load_model(source, options_.worker).network).first->second;
  }

  Store& store_of(const ProfileSource& source) {
    const std::string path = source.store.empty() ? options_.store : beside_file(source.store);
    auto& store = stores_[path];
    if (!store) {
      if (!source.store.empty() && !store_exists(path)) throw bad_input(path + ": there is no such store");
      store = std::make_unique<Store>(Store::to_read(path));
    }
    return *store;
  }

  void estimate(const TrainingJob& job, const Network& network, std::size_t d, ScheduleJob& row) {
    const ProfileSource& source = file_.profiles[d];
    if (source.device.empty()) {
      row.why_not[d] = "no profile is given";
      return;
    }
    Store& store = store_of(source);
    const StoredDevice device = choose_device(store, source.device);
    const std::string word = stored_word(job.recipe, device.fingerprint);
    auto& profile = profiles_[{store.path(), device.id, word}];
    if (!profile) profile = std::make_unique<DeviceProfile>(store, device.id, word);
    const auto key = std::make_tuple(profile.get(), job.network, job.batch, job.method, job.mode);
    auto known = estimates_.find(key);
    if (known == estimates_.end()) {
      std::optional<Estimate> found;
      try {
        found = estimate_network(*profile, find_method(job.method), network, job.batch, job.mode);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::kNotProfiled) throw;
      }
      known = estimates_.emplace(key, std::move(found)).first;
    }
    if (!known->second) {
      row.why_not[d] = "not profiled";
      return;
    }
    modelled_ = modelled_ || known->second->modelled;
    row.costs[d] = job_cost(*known->second, iterations_of(job.samples, job.batch, job.epochs));
  }

  const JobCostOptions& options_;
  JobsFile& file_;
  bool modelled_ = false;
  std::map<std::string, Network> networks_;
  std::map<std::string, std::unique_ptr<Store>> stores_;
  std::map<std::tuple<std::string, std::string, std::string>, std::unique_ptr<DeviceProfile>> profiles_;
  std::map<std::tuple<DeviceProfile*, std::string, std::int64_t, std::string, MeasureMode>,
           std::optional<Estimate>>
      estimates_;
};

}  // namespace

bool estimate_jobs(JobsFile& file, const JobCostOptions& options) { return Estimator(options, file).run(); }

}  // namespace ampere
