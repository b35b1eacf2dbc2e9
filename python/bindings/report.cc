#include "ampere/report.h"

#include "device.h"
#include "progress.h"

namespace ampere::python {
namespace {

PageSummary run(const Path& path, SharedDevice* device, std::string title, std::vector<Model> models,
                std::int64_t batch, const std::optional<Recipe>& recipe, std::string method,
                const std::vector<Path>& results, const Path& figures, int figure_width,
                const StepCallback& on_step) {
  PageOptions options;
  options.title = std::move(title);
  options.models = std::move(models);
  options.setup = setup_of(batch, recipe);
  options.method = std::move(method);
  for (const Path& result : results) options.results.push_back(result.string());
  options.figures = figures.string();
  options.figure_width = figure_width;
  const OnStep steps = on_step_of(on_step);
  if (device != nullptr)
    return device->use([&](Device& d) { return write_report(d, path.string(), options, steps); });
  return unlocked([&] { return write_report(path.string(), options, steps); });
}

}  // namespace

void bind_report(nb::module_& m) {
  nb::class_<PageSummary>(m, "PageSummary")
      .def_ro("bytes", &PageSummary::bytes)
      .def_ro("estimates", &PageSummary::estimates)
      .def_ro("surfaces", &PageSummary::surfaces)
      .def_ro("evaluations", &PageSummary::evaluations)
      .def_ro("figures", &PageSummary::figures, "written")
      .def_ro("ignored", &PageSummary::ignored, "files of the results' folders that are no results");
  m.def(
      "report", &run, "path"_a, "device"_a = nb::none(), nb::kw_only(), "title"_a = PageOptions().title,
      "models"_a = std::vector<Model>(), "batch"_a = 1, "recipe"_a = nb::none(), "method"_a = "split",
      "results"_a = std::vector<Path>(), "figures"_a = "", "figure_width"_a = PageOptions().figure_width,
      "on_step"_a = nb::none(),
      "Writes one HTML page of a device and of results, or of results alone. `models`: networks to estimate. "
      "`results`: files, or folders of files, that the program's verbs wrote with --json. `figures`: folder "
      "for "
      "every figure as SVG, with its numbers as CSV.");
}

}  // namespace ampere::python
