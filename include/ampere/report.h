// A report: everything known about a device and every result, as one page that needs nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ampere/device.h"
#include "ampere/model.h"
#include "ampere/recipe.h"
#include "ampere/tariff.h"

namespace ampere {

struct PageOptions {
  std::string title = "AMPERE report";
  // Networks to estimate, all with the same setup; empty: those that were trained as a whole after profiling.
  std::vector<Model> models = {};
  TrainingSetup setup = {};
  std::string method = "split";
  // What a million iterations of each network are priced by, if it says anything.
  Tariff tariff = {};
  // Files, or folders of files, that `ampere evaluate`, `additivity`, `detect` ... wrote with --json.
  std::vector<std::string> results = {};
  // Folder for every figure as SVG, with its numbers as CSV; made when missing. Empty: none are written.
  std::string figures = {};
  int figure_width = 900;  // pixels
};

struct PageSummary {
  std::size_t bytes = 0;
  int estimates = 0;
  int surfaces = 0;
  int evaluations = 0;
  int figures = 0;                   // written
  std::vector<std::string> ignored;  // files of the results' folders that are no results
};

// Writes one HTML file. Throws Error{kNotProfiled} when a network cannot be estimated, Error{kBadInput} for
// results that are none and for paths that cannot be written, both before anything is; Error{kFailed} when
// the disk is full.
PageSummary write_report(Device& device, const std::string& path, const PageOptions& options = {},
                         const OnStep& on_step = {});
// Of results alone, without a device; `models` must be empty.
PageSummary write_report(const std::string& path, const PageOptions& options, const OnStep& on_step = {});

}  // namespace ampere
