// What Prometheus is told: requests and how long they took, estimates, profiles, and energies of jobs as they
// were predicted and measured.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace ampere {

// Text in the exposition format, one family after the other.
class MetricsText {
 public:
  // `type`: "counter", "gauge" or "histogram".
  void family(const std::string& name, const std::string& type, const std::string& help);
  using Labels = std::vector<std::pair<std::string, std::string>>;
  // `suffix`: "_bucket" and the like of histograms.
  void sample(const Labels& labels, double value, const std::string& suffix = "");
  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
};

// All members may be called by several threads.
class ServeMetrics {
 public:
  void count_request(const std::string& method, const std::string& route, int status, double seconds);
  void count_connections(int open) { connections_ = open; }

  // A job that somebody gave a name; the oldest of very many are forgotten.
  void predicted(const std::string& job, const std::string& device, double energy_j, double low_j,
                 double high_j);
  // Where `device` is empty, the one that the job was predicted for counts, if it is one only; else
  // "unknown". Returns it.
  std::string measured(const std::string& job, const std::string& device, double energy_j);

  void write(MetricsText& out) const;

 private:
  struct Times {
    std::vector<std::uint64_t> buckets;
    std::uint64_t count = 0;
    double sum_s = 0;
  };
  struct JobEnergy {
    std::uint64_t order = 0;
    double predicted_j = 0, low_j = 0, high_j = 0;  // 0: nobody asked
    double measured_j = 0;                          // 0: nobody told
  };
  JobEnergy& job(const std::string& name, const std::string& device);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // by "METHOD route" and status
  std::map<std::string, Times> times_;                             // by route
  std::map<std::pair<std::string, std::string>, JobEnergy> jobs_;  // by name and device
  std::uint64_t order_ = 0;
  int connections_ = 0;
};

}  // namespace ampere
