#include "session/report.h"

#include <filesystem>

#include "ampere/version.h"
#include "base/error.h"
#include "base/files.h"
#include "estimate/estimate.h"
#include "measure/recipe.h"
#include "report/figure_files.h"
#include "session/access.h"

namespace ampere {

void require_writable(const ReportFiles& files) {
  require_writable(files.page);
  if (files.figures.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(files.figures, failed);
  if (failed) {
    throw bad_input(files.figures + ": cannot be made (" + failed.message() +
                    "); name another with --figures");
  }
}

WrittenReport write_report_files(Store* store, const StoredDevice* device, const Results& results,
                                 const ReportOptions& asked, const ReportFiles& files,
                                 const OnStep& on_step) {
  ReportOptions options = asked;
  options.version = kVersion;
  options.progress = [&](int done, int of, const std::string& what) {
    if (on_step) on_step({"reading surfaces", done, of, std::nullopt, what});
  };
  WrittenReport written;
  written.data = report_data(store, device, results, options);
  const std::string page = report_page(written.data);
  written.bytes = page.size();
  write_file(files.page, page);
  if (files.figures.empty()) return written;
  draw_figures(written.data, files.width, [&](int done, int of, const FigureFile& figure) {
    if (on_step) on_step({"drawing", done, of, std::nullopt, figure.name});
    write_file(files.figures + "/" + figure.name + ".svg", figure.svg + "\n");
    write_file(files.figures + "/" + figure.name + ".csv", figure.csv);
    ++written.figures;
  });
  return written;
}

namespace {

PageSummary write(Store* store, const StoredDevice* device, const std::string& path, const PageOptions& page,
                  const OnStep& on_step) {
  check(page.setup);
  if (page.figure_width < 300 || page.figure_width > 4000)
    throw bad_input("the width of figures must be 300 to 4000 pixels");
  ReportOptions options;
  options.title = page.title;
  options.method = find_method(page.method).name;
  options.tariff = page.tariff;
  for (const Model& model : page.models) {
    const Network& network = ModelAccess::loaded(model).network;
    parse_layers(network, page.setup.batch);  // told before anything is written
    options.networks.push_back(
        {network, page.setup.batch,
         device ? stored_word(page.setup.recipe, device->fingerprint) : page.setup.recipe.word()});
  }
  const ReportFiles files{path, page.figures, page.figure_width};
  require_writable(files);
  const Results results = read_results(page.results);
  const WrittenReport written = write_report_files(store, device, results, options, files, on_step);
  const auto count = [&](const char* key) { return static_cast<int>(written.data[key].size()); };
  return {written.bytes,        count("estimates"), count("surfaces"),
          count("evaluations"), written.figures,    results.ignored};
}

}  // namespace

PageSummary write_report(Device& device, const std::string& path, const PageOptions& options,
                         const OnStep& on_step) {
  return write(&DeviceAccess::store(device), &DeviceAccess::stored(device), path, options, on_step);
}

PageSummary write_report(const std::string& path, const PageOptions& options, const OnStep& on_step) {
  if (!options.models.empty()) throw bad_input("a report without a device estimates no networks");
  return write(nullptr, nullptr, path, options, on_step);
}

}  // namespace ampere
