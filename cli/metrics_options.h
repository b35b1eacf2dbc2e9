// --metrics-file and --push: what was measured, for Prometheus.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/json.h"

namespace ampere {

struct MetricsOptions {
  std::string file;  // empty: none is written
  std::string push;  // empty: nothing is sent
  std::string token_file;
  std::string job;  // empty: what was measured
};

void add_metrics_options(CLI::App& verb, MetricsOptions& options);

// Before anything is measured: throws Error{kBadInput} for what cannot be written or is no address.
void check(const MetricsOptions& options);

// `figures` is what --json says: energy_j, time_s, meter, modelled, and predicted where there is one. A
// server that does not take them is told of, and no failure: what was measured is worth more than that.
void tell_metrics(const MetricsOptions& options, const std::string& what, const Json& figures);

// The first line of a file. Throws Error{kBadInput}.
std::string token_in(const std::string& path);

}  // namespace ampere
