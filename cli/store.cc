// ampere store: what was measured so far.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "ampere/version.h"
#include "answers/store_answer.h"
#include "common.h"
#include "store/address.h"
#include "store/exchange.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

// A store that somebody named, and not an empty one in its place.
Store existing(const std::string& path) {
  require_store_path(path);
  if (!store_exists(path)) throw bad_input(path + ": there is no such store");
  return Store::to_read(path);
}

void run_list(const CommonOptions& o) {
  const Store store = Store::to_read(o.store);
  Table table{{"device", "name", "meter", "last used", "surfaces", "points"},
              {},
              {false, false, false, false, true, true},
              1};
  for (const StoredDevice& d : store.devices()) {
    int points = 0;
    const auto surfaces = store.surfaces(d.id);
    for (const SurfaceCount& s : surfaces) points += s.points;
    if (!d.problem.empty())
      warn(fmt::format("{}: device {}: {}; remove it with: ampere store check --remove --store {}",
                       store.path(), d.id, d.problem, store.path()));
    table.rows.push_back({d.id, d.fingerprint.value("name", "?"), d.fingerprint.value("meter", "?"),
                          d.last_used, std::to_string(surfaces.size()), std::to_string(points)});
  }
  if (table.rows.empty())
    warn(store.path() + ": nothing was measured yet; run: ampere profile MODEL --batch N");
  o.json ? print_json(store_json(store)) : print(table);
}

void run_show(const CommonOptions& o) {
  const Store store = Store::to_read(o.store);
  const StoredDevice device = choose_device(store, o.device);
  Json rows = Json::array();
  Table table{{"recipe", "surface", "points"}, {}, {false, false, true}, 1};
  for (const SurfaceCount& s : store.surfaces(device.id)) {
    table.rows.push_back({s.recipe, s.surface.name, std::to_string(s.points)});
    rows.push_back({{"recipe", s.recipe},
                    {"surface", s.surface.name},
                    {"purpose", to_word(s.surface.purpose)},
                    {"method", s.surface.method},
                    {"points", s.points}});
  }
  if (o.json)
    print_json({{"schema_version", kOutputSchemaVersion},
                {"device_id", device.id},
                {"device", device.fingerprint},
                {"surfaces", rows}});
  else
    print(table);
}

struct ExchangeOptions {
  CommonOptions common;
  std::string file;
};

void print_summary(const ExchangeOptions& o, const ImportSummary& s) {
  if (o.common.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"store", printable_address(o.common.store)},
                {"from", printable_address(o.file)},
                {"devices_added", s.devices},
                {"points_added", s.points},
                {"points_known", s.points_known},
                {"facts_added", s.facts}});
    return;
  }
  print("{} points added, {} were there already; {} new devices; kept in {}\n", s.points, s.points_known,
        s.devices, printable_address(o.common.store));
}

void run_export(const ExchangeOptions& o) {
  if (!o.file.empty()) require_writable(o.file);
  const Store store = existing(o.common.store);
  const std::string device = o.common.device.empty() ? "" : choose_device(store, o.common.device).id;
  const std::string text = export_store(store, device, std::string("ampere ") + kVersion)
                               .dump(1, ' ', false, Json::error_handler_t::replace) +
                           "\n";
  if (o.file.empty())
    std::fputs(text.c_str(), stdout);
  else
    write_file(o.file, text);
}

// A card's profile takes 70 MB; and a text that means ill, thirty times as much memory as it is long.
constexpr std::size_t kMostExportedBytes = std::size_t{256} << 20;

void run_import(const ExchangeOptions& o) {
  const Json exported = read_json_file(o.file, kMostExportedBytes);
  std::string by, at;
  try {
    const JsonReader r(exported, "profiles");
    by = r.text("exported_by", "");
    at = r.text("exported_at", "");
    Store store(o.common.store);
    print_summary(o, import_store(store, exported, fmt::format("{}, exported {} by {}", o.file, at, by)));
  } catch (const Error& e) {
    throw Error(e.kind(), o.file + ": " + e.what());
  }
}

void run_merge(const ExchangeOptions& o) {
  const Store other = existing(o.file);
  std::error_code unknown;
  if (o.file == o.common.store || std::filesystem::equivalent(o.file, o.common.store, unknown))
    throw bad_input(printable_address(o.file) + ": that is the store itself");
  Store store(o.common.store);
  print_summary(o, merge_store(store, other));
}

void run_check(const CommonOptions& o, bool remove) {
  Store store = existing(o.store);
  const std::vector<StoreProblem> problems = store.problems();
  Json rows = Json::array();
  for (const StoreProblem& p : problems) {
    rows.push_back({{"kind", p.kind},
                    {"point", p.kind == "point" ? Json(p.row) : Json(nullptr)},
                    {"device_id", p.device},
                    {"subject", p.subject},
                    {"problem", p.what}});
    if (!o.json) print("{}\n", p.text());
    if (remove) store.remove(p);
  }
  if (o.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"store", store.path()},
                {"problems", rows},
                {"removed", remove}});
  } else if (problems.empty()) {
    print("{}: all is well\n", store.path());
  } else if (remove) {
    print("{}: removed what is listed above; profile again to measure it anew\n", store.path());
  }
  if (remove || problems.empty()) return;
  throw Error(
      ErrorKind::kFailed,
      fmt::format("{}: {} of its points, facts and devices cannot be used; remove them with: ampere store "
                  "check --remove --store {}",
                  store.path(), problems.size(), store.path()));
}

void run_deliver(const CommonOptions& o) {
  Store store(o.store);
  const Delivery d = store.deliver();
  if (o.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"store", store.path()},
                {"file", d.file},
                {"points_added", d.points},
                {"points_known", d.points_known},
                {"facts_added", d.facts}});
  } else {
    print("{}: {} points that waited in {} are delivered, {} were there already\n", store.path(), d.points,
          d.file, d.points_known);
  }
  if (!d.problem.empty())
    throw Error(ErrorKind::kFailed,
                fmt::format("{} points and facts wait on in {}: {}", d.left, d.file, d.problem));
}

struct GrantOptions {
  CommonOptions common;
  std::vector<std::string> readers, writers;
};

void run_grant(const GrantOptions& o) {
  if (o.readers.empty() && o.writers.empty())
    throw bad_input("name roles of the server, with --reader ROLE or --writer ROLE");
  Store store(o.common.store);
  for (const std::string& role : o.readers) store.grant(role, false);
  for (const std::string& role : o.writers) store.grant(role, true);
  if (o.common.json) {
    print_json({{"schema_version", kOutputSchemaVersion},
                {"store", store.path()},
                {"readers", o.readers},
                {"writers", o.writers}});
  } else {
    print("{}: {} may read, {} may write\n", store.path(), o.readers.size() + o.writers.size(),
          o.writers.size());
  }
}

void run_remove(const CommonOptions& o, std::int64_t point) {
  Store store = Store::to_read(o.store);
  if (!store.remove_point(point))
    throw bad_input(fmt::format("{}: there is no point {}; see: ampere store check", store.path(), point));
  if (o.json)
    print_json({{"schema_version", kOutputSchemaVersion}, {"store", store.path()}, {"removed_point", point}});
  else
    print("{}: point {} is removed\n", store.path(), point);
}

}  // namespace

void add_store(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("store", "What was measured so far");
  verb->require_subcommand(1);
  // `run` takes the options; returned for options of its own.
  auto add = [&](const char* name, const char* help, bool one_device, const auto& run) {
    auto options = std::make_shared<CommonOptions>();
    CLI::App* sub = verb->add_subcommand(name, help);
    add_store_options(*sub, *options);
    if (one_device) add_device_option(*sub, *options);
    add_output_options(*sub, *options);
    sub->callback([options, run] { run(*options); });
    return sub;
  };
  auto exchange = [&](const char* name, const char* help, const char* file, bool required,
                      void (*run)(const ExchangeOptions&)) {
    auto options = std::make_shared<ExchangeOptions>();
    CLI::App* sub = verb->add_subcommand(name, help);
    CLI::Option* path =
        sub->add_option(required ? file : "-o,--output", options->file,
                        required ? "What to bring in" : "The file to write; standard output unless given");
    if (required) path->required();
    if (!required) add_device_option(*sub, options->common);
    add_store_options(*sub, options->common);
    add_output_options(*sub, options->common);
    sub->callback([options, run] { run(*options); });
  };
  add("list", "Devices, and how much is known of each", false, run_list);
  add("show", "Surfaces of one device", true, run_show);
  exchange("export", "Profiles as JSON, for other people and machines", "", false, run_export);
  exchange("import", "Add profiles that store export wrote", "FILE", true, run_import);
  exchange("merge", "Add what another store has", "STORE", true, run_merge);
  auto all = std::make_shared<bool>(false);
  add("check", "What cannot be used of it; exit code 1 if there is any", false,
      [all](const CommonOptions& o) { run_check(o, *all); })
      ->add_flag("--remove", *all, "Remove them");
  add("deliver", "Bring points to a server that was away when they were measured", false, run_deliver);
  auto roles = std::make_shared<GrantOptions>();
  CLI::App* grant = verb->add_subcommand("grant", "Let roles of a PostgreSQL server use its store");
  grant->add_option("--reader", roles->readers, "Roles that may read")->delimiter(',');
  grant->add_option("--writer", roles->writers, "Roles that may read and write")->delimiter(',');
  add_store_options(*grant, roles->common);
  add_output_options(*grant, roles->common);
  grant->callback([roles] { run_grant(*roles); });
  auto point = std::make_shared<std::int64_t>(0);
  add("remove", "Remove a point", false, [point](const CommonOptions& o) { run_remove(o, *point); })
      ->add_option("--point", *point, "Id of the point, as an error or ampere store check tells it")
      ->required();
}

}  // namespace ampere
