#include "serve/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace ampere {
namespace {

constexpr double kBucketsS[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60};
constexpr std::size_t kMostJobSeries = 1000;

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

}  // namespace

void MetricsText::family(const std::string& name, const std::string& type, const std::string& help) {
  name_ = name;
  text_ += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void MetricsText::sample(const Labels& labels, double value, const std::string& suffix) {
  text_ += name_ + suffix;
  std::string list;
  for (const auto& [name, text] : labels)
    list += (list.empty() ? "" : ",") + name + "=\"" + escaped(text) + "\"";
  if (!list.empty()) text_ += "{" + list + "}";
  text_ += " " + number_text(value) + "\n";
}

void ServeMetrics::count_request(const std::string& method, const std::string& route, int status,
                                 double seconds) {
  const std::lock_guard lock(mutex_);
  requests_[{method + " " + route, status}] += 1;
  Times& times = times_[route];
  times.buckets.resize(std::size(kBucketsS));
  for (std::size_t i = 0; i < std::size(kBucketsS); ++i) times.buckets[i] += seconds <= kBucketsS[i];
  times.count += 1;
  times.sum_s += seconds;
}

ServeMetrics::JobEnergy& ServeMetrics::job(const std::string& name, const std::string& device) {
  if (jobs_.size() >= kMostJobSeries && jobs_.count({name, device}) == 0) {
    const auto oldest = std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.order < b.second.order;
    });
    jobs_.erase(oldest);
  }
  JobEnergy& energy = jobs_[{name, device}];
  energy.order = ++order_;
  return energy;
}

void ServeMetrics::predicted(const std::string& name, const std::string& device, double energy_j,
                             double low_j, double high_j) {
  const std::lock_guard lock(mutex_);
  JobEnergy& energy = job(name, device);
  energy.predicted_j = energy_j;
  energy.low_j = low_j;
  energy.high_j = high_j;
}

std::string ServeMetrics::measured(const std::string& name, const std::string& device, double energy_j) {
  const std::lock_guard lock(mutex_);
  std::string where = device;
  int found = 0;
  for (const auto& [key, energy] : jobs_) {
    if (!device.empty() || key.first != name || energy.predicted_j <= 0) continue;
    where = key.second;
    ++found;
  }
  if (device.empty() && found != 1) where = "unknown";
  job(name, where).measured_j = energy_j;
  return where;
}

void ServeMetrics::write(MetricsText& out) const {
  const std::lock_guard lock(mutex_);
  out.family("ampere_http_requests_total", "counter", "Requests, by method, route and status");
  for (const auto& [key, count] : requests_) {
    const std::size_t space = key.first.find(' ');
    out.sample({{"method", key.first.substr(0, space)},
                {"route", key.first.substr(space + 1)},
                {"status", std::to_string(key.second)}},
               static_cast<double>(count));
  }
  out.family("ampere_http_request_duration_seconds", "histogram", "From the whole request to its response");
  for (const auto& [route, times] : times_) {
    for (std::size_t i = 0; i < times.buckets.size(); ++i)
      out.sample({{"route", route}, {"le", number_text(kBucketsS[i])}}, static_cast<double>(times.buckets[i]),
                 "_bucket");
    out.sample({{"route", route}, {"le", "+Inf"}}, static_cast<double>(times.count), "_bucket");
    out.sample({{"route", route}}, times.sum_s, "_sum");
    out.sample({{"route", route}}, static_cast<double>(times.count), "_count");
  }
  out.family("ampere_http_connections", "gauge", "Open connections");
  out.sample({}, connections_);
  struct Part {
    const char* name;
    const char* help;
    double (*value)(const JobEnergy&);
  };
  constexpr Part kParts[] = {
      {"ampere_job_predicted_joules", "Energy of a named job as it was estimated",
       [](const JobEnergy& e) { return e.predicted_j; }},
      {"ampere_job_predicted_low_joules", "Lower bound of its 95% interval",
       [](const JobEnergy& e) { return e.low_j; }},
      {"ampere_job_predicted_high_joules", "Upper bound of its 95% interval",
       [](const JobEnergy& e) { return e.high_j; }},
      {"ampere_job_measured_joules", "Energy of a named job as it was measured",
       [](const JobEnergy& e) { return e.measured_j; }},
      {"ampere_estimate_error_ratio", "How far the estimate of a job was off: predicted / measured - 1",
       [](const JobEnergy& e) {
         return e.predicted_j > 0 && e.measured_j > 0 ? e.predicted_j / e.measured_j - 1 : 0.0;
       }}};
  for (const Part& part : kParts) {
    out.family(part.name, "gauge", part.help);
    const bool is_error = &part == &kParts[4];
    for (const auto& [key, energy] : jobs_) {
      const bool told = is_error ? energy.predicted_j > 0 && energy.measured_j > 0 : part.value(energy) > 0;
      if (told) out.sample({{"job_name", key.first}, {"device", key.second}}, part.value(energy));
    }
  }
}

}  // namespace ampere
