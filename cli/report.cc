// ampere report: what is known about a device, and every result, as one page or as figures for papers.
#include "report/report.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>

#include "common.h"
#include "measure/recipe.h"
#include "progress.h"
#include "session/report.h"
#include "store/address.h"
#include "tariff_options.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

constexpr std::chrono::seconds kPatience(1);

struct ReportArguments {
  CommonOptions common;
  ModelOptions model;  // its `model` is not used
  std::vector<std::string> models;
  std::vector<std::string> results;
  std::string method = "split";
  std::string output = "report.html";
  std::string figures;
  std::string title = "AMPERE report";
  int width = 900;
  TariffOptions tariff;
};

std::vector<KnownNetwork> networks_of(const ReportArguments& o) {
  std::vector<KnownNetwork> networks;
  for (const std::string& name : o.models) {
    ModelOptions model = o.model;
    model.model = name;
    Network network = load_model(model, o.common).network;
    parse_layers(network, o.model.batch);  // told before anything is written
    networks.push_back({std::move(network), o.model.batch, o.model.recipe.word()});
  }
  return networks;
}

// Mostly it is done before a bar is worth reading.
OnStep shown_patiently(bool quiet) {
  const auto bar = std::make_shared<std::unique_ptr<Progress>>();
  const auto task = std::make_shared<std::string>();
  return [=](const Step& step) {
    if (!*bar || *task != step.task) *bar = std::make_unique<Progress>(step.task, quiet, kPatience);
    *task = step.task;
    (*bar)->show(step.done, step.of, step.what);
  };
}

WrittenReport write(const ReportArguments& o, const Results& results, const ReportFiles& files) {
  ReportOptions options;
  options.title = o.title;
  options.method = find_method(o.method).name;
  options.networks = networks_of(o);
  options.tariff = o.tariff.tariff();
  const bool any_results = !results.evaluations.empty() || !results.additivity.empty() ||
                           !results.curves.empty() || !results.tunings.empty();
  // A report of results alone needs no store, and does not make one.
  std::optional<Store> store;
  std::optional<StoredDevice> device;
  if (store_exists(o.common.store)) store.emplace(Store::to_read(o.common.store));
  if (store && (!o.common.device.empty() || latest_device(*store)))
    device = choose_device(*store, o.common.device);
  if (!device && (!any_results || !o.models.empty() || !o.common.device.empty())) {
    require_store_path(o.common.store);
    throw Error(ErrorKind::kNotProfiled, printable_address(o.common.store) +
                                             ": no device was profiled yet; run: ampere profile "
                                             "MODEL --batch N, or name results with --results");
  }
  if (device) {
    for (KnownNetwork& network : options.networks)
      network.recipe = stored_word(o.model.recipe, device->fingerprint);
  }
  return write_report_files(store ? &*store : nullptr, device ? &*device : nullptr, results, options, files,
                            shown_patiently(o.common.quiet || o.common.json));
}

void run(const ReportArguments& o) {
  const ReportFiles files{o.output, o.figures, o.width};
  require_writable(files);
  const Results results = read_results(o.results);
  const WrittenReport written = write(o, results, files);
  const Json& data = written.data;
  if (o.common.json) {
    Json out = {{"schema_version", kOutputSchemaVersion},
                {"report", o.output},
                {"bytes", written.bytes},
                {"device", data["device"]},
                {"estimates", data["estimates"].size()},
                {"surfaces", data["surfaces"].size()},
                {"evaluations", data["evaluations"].size()},
                {"additivity", data["additivity"].size()},
                {"curves", data["curves"].size()},
                {"tunings", data["tunings"].size()},
                {"figures", written.figures}};
    print_json(out);
    return;
  }
  print("{}",
        wrapped(
            fmt::format("{}: {} networks estimated, {} surfaces, {} evaluations, {} kB; open it in a browser",
                        o.output, data["estimates"].size(), data["surfaces"].size(),
                        data["evaluations"].size(), written.bytes / 1000),
            2, terminal_width()));
  if (written.figures > 0)
    print("{}: {} figures as SVG, each with its numbers as CSV\n", o.figures, written.figures);
  for (const std::string& file : results.ignored) warn(file + ": not a result that a report shows; left out");
}

}  // namespace

void add_report(CLI::App& app) {
  auto o = std::make_shared<ReportArguments>();
  CLI::App* verb =
      app.add_subcommand("report", "One page to look at: device, layers, accuracy; figures for papers");
  verb->add_option("MODEL", o->models, "Networks to estimate; without, those that were profiled");
  verb->add_option("-b,--batch", o->model.batch, "Batch size of MODEL")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--method", o->method, "split, paper or neuralpower");
  verb->add_option("--results", o->results,
                   "Files or folders of JSON that evaluate, additivity, detect ... wrote");
  verb->add_option("-o,--output", o->output, "The page to write [report.html]");
  verb->add_option("--figures", o->figures, "Folder for the figures as SVG, with their numbers as CSV");
  verb->add_option("--figure-width", o->width, "Width of those figures in pixels [900]")
      ->check(CLI::Range(300, 4000));
  verb->add_option("--title", o->title, "Heading of the page");
  add_tariff_options(*verb, o->tariff);
  add_recipe_options(*verb, o->model);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
