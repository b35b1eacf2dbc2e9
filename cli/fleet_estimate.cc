// ampere fleet estimate: where should this run?
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "fleet_slurm.h"
#include "fleet_verbs.h"
#include "measure/recipe.h"
#include "tariff_options.h"
#include "text.h"

namespace ampere {
namespace {

struct FleetEstimateArguments : FleetArguments {
  ModelOptions model;
  bool all = false;
  std::string method = "split";
  std::string mode = "eager";
  std::int64_t samples = 0, epochs = 1;
  TariffOptions tariff;  // of devices that have none of their own
  std::string by = "energy";
  ClusterOptions cluster;

  MeasureMode training() const { return mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager; }
};

struct FleetPlace {
  std::string name;
  std::optional<StoredDevice> device;
  std::optional<Estimate> estimate;
  std::string why_not;
  Tariff tariff;  // of the place where it stands

  Bill bill(double iterations) const { return bill_of(tariff, estimate->energy_j * iterations); }
};

std::vector<FleetPlace> places_in(const Store& store, const FleetEstimateArguments& o) {
  std::vector<FleetPlace> places;
  if (o.all) {
    constexpr int kAtOnce = 1000;
    for (int from = 0;; from += kAtOnce) {
      const auto some = store.devices_with_points(from, kAtOnce);
      for (const StoredDevice& d : some) {
        if (d.problem.empty())
          places.push_back({d.fingerprint.value("name", "?"), d, std::nullopt, "", o.tariff.tariff()});
      }
      if (some.size() < kAtOnce) return places;
    }
  }
  const Fleet fleet = o.cluster.slurm ? cluster_fleet(o.cluster) : fleet_of(o);
  std::vector<std::string> facts;
  facts.reserve(fleet.devices.size());
  for (const FleetDevice& d : fleet.devices) facts.push_back(fleet_fact(d.name));
  const auto known = store.devices_by_fact(facts);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const FleetDevice& d = fleet.devices[i];
    FleetPlace place{
        d.name, std::nullopt, std::nullopt, "",
        tariff_of(d.price.empty() ? o.tariff.price : d.price, d.carbon.empty() ? o.tariff.carbon : d.carbon)};
    if (const auto it = known.find(facts[i]); it != known.end())
      place.device = it->second;
    else
      place.why_not = o.cluster.slurm ? "never reached; run: ampere fleet profile MODEL --slurm"
                                      : "never reached; run: ampere fleet detect";
    places.push_back(std::move(place));
  }
  return places;
}

// Each thread has a connection of its own. Devices of one kind, which share a profile, are asked about once.
void estimate_places(const FleetEstimateArguments& o, const Network& network,
                     std::vector<FleetPlace>& places) {
  std::map<std::string, std::vector<FleetPlace*>> kinds;
  for (FleetPlace& place : places) {
    if (place.device) kinds[place.device->id].push_back(&place);
  }
  std::vector<const std::vector<FleetPlace*>*> queue;
  queue.reserve(kinds.size());
  for (const auto& [id, same] : kinds) queue.push_back(&same);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Store store = Store::to_read(o.common.store);
    for (std::size_t i = next++; i < queue.size(); i = next++) {
      FleetPlace& place = *queue[i]->front();
      try {
        DeviceProfile profile(store, place.device->id,
                              stored_word(o.model.recipe, place.device->fingerprint));
        place.estimate =
            estimate_network(profile, find_method(o.method), network, o.model.batch, o.training());
      } catch (const Error& e) {
        place.why_not = e.kind() == ErrorKind::kNotProfiled ? "not profiled for this network" : e.what();
      }
      for (FleetPlace* same : *queue[i]) {
        same->estimate = place.estimate;
        same->why_not = place.why_not;
      }
    }
  };
  const std::size_t count =
      std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), queue.size());
  std::vector<std::thread> threads;
  std::exception_ptr failed;
  std::mutex mutex;
  for (std::size_t t = 0; t < count; ++t) {
    try {
      threads.emplace_back([&] {
        try {
          work();
        } catch (...) {
          const std::lock_guard lock(mutex);
          failed = std::current_exception();
        }
      });
    } catch (const std::system_error&) {  // fewer will do
      if (threads.empty()) throw Error(ErrorKind::kFailed, "no thread can be started here (ulimit -u)");
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

// What places are ordered by; absent where it is not known.
std::optional<double> size_of(const FleetPlace& place, const std::string& by) {
  if (!place.estimate) return std::nullopt;
  if (by == "time") return place.estimate->time_s.value;
  const Bill bill = place.bill(1);
  if (by == "cost") return bill.cost ? std::optional(bill.cost->value) : std::nullopt;
  if (by == "carbon") return bill.carbon_g ? std::optional(bill.carbon_g->value) : std::nullopt;
  return place.estimate->energy_j.value;
}

// The least first; those that nothing is known of last.
void order(std::vector<FleetPlace>& places, const std::string& by) {
  std::stable_sort(places.begin(), places.end(), [&](const FleetPlace& a, const FleetPlace& b) {
    const auto x = size_of(a, by), y = size_of(b, by);
    return x && (!y || *x < *y);
  });
}

void require_comparable(const FleetEstimateArguments& o, const std::vector<FleetPlace>& places) {
  if (o.by != "cost" && o.by != "carbon") return;
  const bool cost = o.by == "cost";
  const FleetPlace* first = nullptr;
  for (const FleetPlace& place : places) {
    if (!(cost ? place.tariff.price_per_kwh : place.tariff.carbon_g_per_kwh)) continue;
    if (cost && first && first->tariff.currency != place.tariff.currency) {
      throw bad_input(fmt::format("--by cost: {} pays in \"{}\" and {} in \"{}\", which are not compared",
                                  first->name, first->tariff.currency, place.name, place.tariff.currency));
    }
    if (!first) first = &place;
  }
  if (!first)
    throw bad_input(fmt::format("--by {}: say what energy {}: --{}, or \"{}\" of devices in the file", o.by,
                                cost ? "costs" : "emits", cost ? "price" : "carbon",
                                cost ? "price" : "carbon"));
}

Json place_json(const FleetPlace& place, double iterations) {
  Json row = {{"name", place.name},
              {"device_id", place.device ? Json(place.device->id) : Json(nullptr)},
              {"device", place.device ? place.device->fingerprint : Json(nullptr)},
              {"why_not", place.why_not.empty() ? Json(nullptr) : Json(place.why_not)}};
  put_tariff(row, place.tariff);
  if (!place.estimate) return row;
  const Interval energy = place.estimate->energy_j * iterations, time = place.estimate->time_s * iterations;
  row["modelled"] = place.estimate->modelled;
  row["unmeasured"] = place.estimate->unmeasured;
  row["energy_j"] = energy.value;
  row["energy_low_j"] = energy.low;
  row["energy_high_j"] = energy.high;
  row["time_s"] = time.value;
  row["time_low_s"] = time.low;
  row["time_high_s"] = time.high;
  put_bill(row, place.tariff, energy);
  return row;
}

// An iteration costs next to nothing, so that without a job a million of them are told.
void print_places(const FleetEstimateArguments& o, const std::vector<FleetPlace>& places, double iterations) {
  const auto any = [&](auto has) {
    return std::any_of(places.begin(), places.end(),
                       [&](const FleetPlace& p) { return p.estimate && has(p.tariff); });
  };
  const bool costs = any([](const Tariff& t) { return t.price_per_kwh.has_value(); });
  const bool emits = any([](const Tariff& t) { return t.carbon_g_per_kwh.has_value(); });
  const std::string of = o.samples > 0 ? "" : " of a million iterations";
  Table table{{"name", "device", "energy (95% interval)", "time (95% interval)"}, {}, {}, 1};
  if (costs) table.header.push_back("cost" + of + " (95% interval)");
  if (emits) table.header.push_back("CO2e" + of + " (95% interval)");
  table.header.push_back("");
  table.may_overflow = !costs && !emits;
  for (const FleetPlace& p : places) {
    std::vector<std::string> row = {p.name, p.device ? p.device->fingerprint.value("name", "?") : "-", "-",
                                    "-"};
    std::string note = p.why_not;
    std::string cost = "-", emission = "-";
    if (p.estimate) {
      row[2] = interval_text(p.estimate->energy_j * iterations, joules_text);
      row[3] = interval_text(p.estimate->time_s * iterations, seconds_text);
      note = how_known(*p.estimate);
      const Bill bill = p.bill(o.samples > 0 ? iterations : 1e6);
      if (bill.cost) cost = cost_text(*bill.cost, p.tariff.currency);
      if (bill.carbon_g) emission = carbon_text(*bill.carbon_g);
    }
    if (costs) row.push_back(cost);
    if (emits) row.push_back(emission);
    row.push_back(note);
    table.rows.push_back(std::move(row));
  }
  print(table);
}

void run_fleet_estimate(const FleetEstimateArguments& o) {
  if (o.all && o.cluster.slurm)
    throw bad_input("--all and --slurm are two ways to say which devices; leave one away");
  if (!o.cluster.slurm && !o.cluster.partitions.empty()) throw bad_input("--partitions goes with --slurm");
  if (o.epochs > 1 && o.samples == 0)
    throw bad_input("--epochs is about a whole job; say how many samples an epoch has: --samples N");
  o.tariff.tariff();  // told before anything is asked
  const LoadedModel model = load_model(o.model, o.common);
  parse_layers(model.network, o.model.batch);
  find_method(o.method);
  const double iterations = o.samples > 0 ? iterations_of(o.samples, o.model.batch, o.epochs) : 1;
  std::vector<FleetPlace> places = places_in(Store::to_read(o.common.store), o);
  require_comparable(o, places);
  estimate_places(o, model.network, places);
  order(places, o.by);
  const bool any =
      std::any_of(places.begin(), places.end(), [](const FleetPlace& p) { return p.estimate.has_value(); });
  const bool modelled = std::any_of(places.begin(), places.end(),
                                    [](const FleetPlace& p) { return p.estimate && p.estimate->modelled; });
  if (!any) {
    throw Error(
        ErrorKind::kNotProfiled,
        fmt::format("none of the {} devices was profiled for {} at batch {}; run: ampere fleet profile {} "
                    "--batch {}{}",
                    places.size(), model.network.name(), o.model.batch, o.model.model, o.model.batch,
                    o.cluster.slurm ? " --slurm" : ""));
  }
  if (!o.common.json) {
    const std::string job =
        o.samples > 0 ? fmt::format("{} samples, {} epoch{}", o.samples, o.epochs, o.epochs == 1 ? "" : "s")
                      : "one iteration";
    say(fmt::format("{} at batch {}, {}: {}", model.network.name(), o.model.batch, o.model.recipe.word(),
                    job));
    print_places(o, places, iterations);
    return;
  }
  Json rows = Json::array();
  for (const FleetPlace& place : places) rows.push_back(place_json(place, iterations));
  print_json({{"schema_version", kOutputSchemaVersion},
              {"model", model.network.name()},
              {"batch", o.model.batch},
              {"recipe", o.model.recipe.word()},
              {"method", o.method},
              {"mode", o.mode},
              {"iterations", iterations},
              {"modelled", modelled},
              {"devices", rows}});
}

}  // namespace

void add_fleet_estimate(CLI::App& fleet) {
  auto o = std::make_shared<FleetEstimateArguments>();
  CLI::App* verb = fleet.add_subcommand(
      "estimate", "Where should this run? Joules, time, cost and carbon on every device");
  add_model_options(*verb, o->model);
  verb->add_flag("--all", o->all, "Every device of the store, instead of those of a file");
  add_cluster_options(*verb, o->cluster, false);
  verb->add_option("--samples", o->samples, "Samples of an epoch: the whole job is told")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 53));
  verb->add_option("--epochs", o->epochs, "Epochs of the job [1]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
  verb->add_option("--method", o->method, "split, paper or neuralpower");
  verb->add_option("--mode", o->mode, "How it will be trained: eager or replay")
      ->check(CLI::IsMember({"eager", "replay"}));
  add_tariff_options(*verb, o->tariff);
  verb->add_option("--by", o->by, "What the least of comes first: energy, time, cost or carbon")
      ->check(CLI::IsMember({"energy", "time", "cost", "carbon"}));
  add_recipe_options(*verb, o->model);
  add_fleet_options(*verb, *o, false);
  verb->callback([o] { run_fleet_estimate(*o); });
}

}  // namespace ampere
