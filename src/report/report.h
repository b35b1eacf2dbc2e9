// A report: everything known about a device and every result, as one page that needs nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ampere/tariff.h"
#include "report/known_plans.h"
#include "report/results.h"
#include "store/store.h"

namespace ampere {

struct ReportOptions {
  std::string title = "AMPERE report";
  std::string version;  // of this program
  // Networks to estimate; empty: those that were trained as a whole after profiling.
  std::vector<KnownNetwork> networks;
  std::string method = "split";
  Tariff tariff;  // what a million iterations of each are priced by, if it says anything
  std::function<void(int done, int of, const std::string& what)> progress;
};

// All that figures and tables show. `device` is absent where there are only results. Throws
// Error{kNotProfiled} when a network of the options cannot be estimated.
Json report_data(Store* store, const StoredDevice* device, const Results& results,
                 const ReportOptions& options);

// One HTML file with data, figures and the program that draws them. What comes from files is never markup.
std::string report_page(const Json& data);

}  // namespace ampere
