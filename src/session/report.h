// Writing a report: the page, and its figures as files.
#pragma once

#include "ampere/report.h"
#include "report/report.h"

namespace ampere {

struct ReportFiles {
  std::string page;
  std::string figures;  // folder; empty: none
  int width = 900;      // of figures, in pixels
};

// Throws Error{kBadInput} where they cannot be written; call it before anything is read.
void require_writable(const ReportFiles& files);

struct WrittenReport {
  Json data;  // all that the page shows
  std::size_t bytes = 0;
  int figures = 0;
};
// `device` and `store` are null where there are only results.
WrittenReport write_report_files(Store* store, const StoredDevice* device, const Results& results,
                                 const ReportOptions& options, const ReportFiles& files,
                                 const OnStep& on_step);

}  // namespace ampere
