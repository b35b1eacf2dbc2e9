// ampere train: trains networks for real on a data set, in turns, and tells what each took and how good it
// is.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "base/csv.h"
#include "base/error.h"
#include "common.h"
#include "network/cost.h"
#include "progress.h"
#include "prune/budget.h"
#include "session/training.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct TrainArguments {
  CommonOptions common;
  ModelOptions model;  // batch and recipe
  std::vector<std::string> models;
  std::vector<std::string> labels;
  TrainingOptions training;
  std::string budget;
  std::string output;
  std::string csv;
};

std::vector<TrainedNetwork> load_networks(const TrainArguments& o) {
  if (!o.labels.empty() && o.labels.size() != o.models.size())
    throw bad_input(fmt::format("{} labels for {} networks", o.labels.size(), o.models.size()));
  std::vector<TrainedNetwork> networks;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < o.models.size(); ++i) {
    TrainedNetwork n;
    ModelOptions model;
    model.model = o.models[i];
    model.batch = o.training.batch;
    n.network = load_model(model, o.common).network;
    const std::filesystem::path path(o.models[i]);
    n.label = !o.labels.empty()             ? o.labels[i]
              : path.extension() == ".json" ? path.stem().string()
                                            : o.models[i];
    if (!seen.insert(n.label).second)
      throw bad_input("two networks are called \"" + n.label + "\"; name them with --labels");
    networks.push_back(std::move(n));
  }
  return networks;
}

double share_of_first(const Training& t, const TrainedNetwork& n) {
  return n.energy_j / t.networks.front().energy_j;
}

Json training_json(const TrainArguments& o, const Session& session, const Training& t,
                   std::optional<double> budget) {
  Json out = json_header(session.fingerprint, t.modelled);
  out["data"] = o.training.data;
  out["batch"] = o.training.batch;
  out["recipe"] = o.training.recipe.word();
  out["seed"] = o.training.recipe.seed;
  out["iterations"] = o.training.iterations;
  out["learning_rate"] = o.training.learning_rate;
  out["budget_share"] = budget ? Json(*budget) : Json(nullptr);
  out["networks"] = Json::array();
  for (const TrainedNetwork& n : t.networks) {
    const Cost cost = network_cost(n.network, o.training.batch);
    Json j = {{"label", n.label},
              {"parameters", cost.parameters},
              {"flops", cost.flops()},
              {"energy_j", n.energy_j},
              {"energy_share", share_of_first(t, n)},
              {"within_budget", budget ? Json(share_of_first(t, n) <= *budget) : Json(nullptr)},
              {"time_s", n.time_s},
              {"test_loss", n.curve.back().test_loss},
              {"test_accuracy", n.curve.back().test_accuracy},
              {"curve", Json::array()}};
    for (const CurvePoint& p : n.curve) {
      j["curve"].push_back({{"iteration", p.iteration},
                            {"energy_j", p.energy_j},
                            {"time_s", p.time_s},
                            {"train_loss", p.iteration > 0 ? number_or_null(p.train_loss) : Json(nullptr)},
                            {"test_loss", number_or_null(p.test_loss)},
                            {"test_accuracy", p.test_accuracy}});
    }
    out["networks"].push_back(std::move(j));
  }
  return out;
}

std::string csv_of(const Training& t) {
  std::string text = "label,iteration,energy_j,time_s,train_loss,test_loss,test_accuracy\n";
  for (const TrainedNetwork& n : t.networks) {
    for (const CurvePoint& p : n.curve) {
      text += fmt::format("{},{},{:.6g},{:.6g},{},{:.6g},{:.6g}\n", csv_cell(n.label), p.iteration,
                          p.energy_j, p.time_s, p.iteration > 0 ? fmt::format("{:.6g}", p.train_loss) : "",
                          p.test_loss, p.test_accuracy);
    }
  }
  return text;
}

void print_text(const TrainArguments& o, const Session& session, const Training& t,
                std::optional<double> budget) {
  print("{}\n", wrapped(fmt::format("{} iterations at batch {} on {}, {}, meter {}{}", o.training.iterations,
                                    o.training.batch, session.fingerprint.value("name", "?"),
                                    o.training.recipe.word(), t.meter,
                                    t.modelled ? " (modelled, not measured, energy)" : ""),
                        2, terminal_width()));
  Table table{{"network", "parameters", "FLOPs", "energy", "share", "time", "test loss", "accuracy"},
              {},
              {false, true, true, true, true, true, true, true},
              0};
  if (budget) table.header.push_back("budget " + percent_text(*budget));
  const Cost first = network_cost(t.networks.front().network, o.training.batch);
  for (const TrainedNetwork& n : t.networks) {
    const Cost cost = network_cost(n.network, o.training.batch);
    table.rows.push_back({n.label, count_text(cost.parameters), percent_text(cost.flops() / first.flops()),
                          joules_text(n.energy_j), fmt::format("{:.1f}%", 100 * share_of_first(t, n)),
                          seconds_text(n.time_s), fmt::format("{:.3f}", n.curve.back().test_loss),
                          fmt::format("{:.2f}%", 100 * n.curve.back().test_accuracy)});
    if (budget) table.rows.back().push_back(share_of_first(t, n) <= *budget ? "held" : "exceeded");
  }
  if (budget) table.rows.front().back() = "";
  print(table);
}

void run(TrainArguments& o) {
  std::optional<double> budget;
  if (!o.budget.empty()) budget = parse_percent(o.budget, "--budget");
  std::vector<TrainedNetwork> networks = load_networks(o);
  for (const std::string* path : {&o.output, &o.csv}) {
    if (!path->empty()) require_writable(*path);
  }
  const Session session = open_worker(o.common);
  o.training.batch = o.model.batch;
  o.training.recipe = o.model.recipe;
  o.training.meter = session.meter;
  Progress bar("training", o.common.quiet || o.common.json);
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [&](std::int64_t done, std::int64_t of) {
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double left = done > 0 ? took * static_cast<double>(of - done) / static_cast<double>(done) : 0;
    bar.show(static_cast<int>(done), static_cast<int>(of), left, "iterations");
  };
  const Training t = train_in_turns(*session.worker, std::move(networks), o.training, progress);
  const Json json = training_json(o, session, t, budget);
  if (!o.output.empty())
    write_file(o.output, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!o.csv.empty()) write_file(o.csv, csv_of(t));
  o.common.json ? print_json(json) : print_text(o, session, t, budget);
}

}  // namespace

void add_train(CLI::App& app) {
  auto o = std::make_shared<TrainArguments>();
  CLI::App* verb =
      app.add_subcommand("train", "Train networks on a data set: energy, loss and accuracy of each");
  o->model.batch = 64;
  verb->add_option("MODEL", o->models, "Networks; energies are shares of the first one's")->required();
  verb->add_option("--labels", o->labels, "Names for them in tables and files")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--data", o->training.data, "Folder of IDX files on the worker's machine")->required();
  verb->add_option("-b,--batch", o->model.batch, "Batch size")->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--iterations", o->training.iterations, "Iterations of each network")
      ->check(CLI::Range(1, 100'000'000));
  verb->add_option("--turn", o->training.turn, "Iterations before the next network's turn")
      ->check(CLI::Range(1, 100'000'000));
  verb->add_option("--test-every", o->training.test_every, "Iterations between two tests")
      ->check(CLI::Range(1, 100'000'000));
  verb->add_option("--learning-rate", o->training.learning_rate, "At the start; it falls linearly to 0")
      ->check(CLI::Range(1e-9, 1e6));
  verb->add_option("--budget", o->budget, "Share of the first one's energy to hold the others to (50%)");
  verb->add_option("-o,--output", o->output, "Write figures and curves to this file, as JSON");
  verb->add_option("--csv", o->csv, "Write the curves to this file, as CSV");
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
