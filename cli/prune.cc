// ampere prune: fewer channels, so that training fits a budget of energy. Needs no worker.
#include "prune/prune.h"

#include <fmt/core.h>

#include <charconv>
#include <memory>

#include "base/error.h"
#include "common.h"
#include "measure/recipe.h"
#include "network/network_json.h"
#include "profile_command.h"
#include "prune/checked.h"
#include "session/prune.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

struct PruneArguments {
  CommonOptions common;
  ModelOptions model;
  std::string budget;
  std::string by = "energy";
  std::string risk;
  std::string rank = "parameters";
  std::string scores;
  std::int64_t multiple_of = 1;
  std::string min_channels = "10%";
  std::vector<std::string> keep;
  std::string search = "evolve";
  std::int64_t candidates = 200'000;
  std::int64_t epochs = 1;
  std::int64_t samples = 0;
  std::string mode = "eager";
  int checks = 0;
  std::string data;
  std::string output;

  bool by_energy() const { return by == "energy"; }
};

void read_min_channels(const std::string& text, PruneOptions& p) {
  if (!text.empty() && text.back() == '%') {
    p.min_share = parse_percent(text, "--min-channels");
    return;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), p.min_channels);
  if (error != std::errc() || *end != '\0' || p.min_channels < 1)
    throw bad_input("--min-channels must be a number of channels (4) or a share of them (10%), found \"" +
                    text + "\"");
  p.min_share = 0;
}

PruneOptions prune_options(const PruneArguments& o) {
  PruneOptions p;
  p.budget = parse_budget(o.budget);
  if (o.samples > 0) {
    const std::int64_t per_epoch = (o.samples + o.model.batch - 1) / o.model.batch;
    p.job_iterations = static_cast<double>(per_epoch) * static_cast<double>(o.epochs);
  }
  if (o.checks > 0 && !o.by_energy()) throw bad_input("--check goes with --by energy only");
  if (o.checks > 0 && !o.common.device.empty())
    throw bad_input("--check measures on the worker's device; leave --device away");
  if (o.checks == 0 && !o.data.empty())
    throw bad_input("--data is what --check trains on: say --check 4, too");
  if (!o.data.empty() && o.mode == "replay")
    throw bad_input("--data goes with --mode eager: training on data is not captured in a graph");
  if (!o.risk.empty()) p.risk = parse_percent(o.risk, "--risk");
  p.rank = o.rank == "score" ? Rank::kScore : o.rank == "flops" ? Rank::kFlops : Rank::kParameters;
  if ((p.rank == Rank::kScore) == o.scores.empty())
    throw bad_input("--rank score and --scores FILE go together");
  if (!o.scores.empty()) p.scores = read_scores(o.scores);
  p.multiple_of = o.multiple_of;
  read_min_channels(o.min_channels, p);
  p.keep = o.keep;
  p.mode = o.mode == "replay" ? MeasureMode::kReplay : MeasureMode::kEager;
  p.search.kind = o.search == "random" ? SearchKind::kRandom : SearchKind::kEvolve;
  p.search.candidates = o.candidates;
  p.search.seed = static_cast<std::uint64_t>(o.model.recipe.seed);
  return p;
}

// FLOPs stand in for energy where there is none.
double energy_or_flops(const PrunePlan& plan, std::size_t layer, bool after) {
  const auto& estimate = after ? plan.after : plan.before;
  if (estimate) return estimate->layers[layer].energy_j.value;
  return (after ? plan.layers_after : plan.layers_before)[layer].cost.flops();
}

double whole(const PrunePlan& plan, bool after) {
  const auto& estimate = after ? plan.after : plan.before;
  return estimate ? estimate->energy_j.value : (after ? plan.cost_after : plan.cost_before).flops();
}

Json state_json(const std::optional<Estimate>& e, const Cost& cost) {
  Json j = {{"flops", cost.flops()}, {"parameters", cost.parameters}};
  if (!e) return j;
  j["energy_j"] = e->energy_j.value;
  j["energy_low_j"] = e->energy_j.low;
  j["energy_high_j"] = e->energy_j.high;
  j["time_s"] = e->time_s.value;
  j["unmeasured"] = e->unmeasured;
  return j;
}

Json layers_json(const PrunePlan& plan) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < plan.layers_before.size(); ++i) {
    const Layer &a = plan.layers_before[i], &b = plan.layers_after[i];
    Json j = {{"name", a.name},
              {"kind", a.kind.word()},
              {"channels_before", {{"in", a.channels.in}, {"out", a.channels.out}}},
              {"channels", {{"in", b.channels.in}, {"out", b.channels.out}}},
              {"flops_before", a.cost.flops()},
              {"flops", b.cost.flops()}};
    if (plan.before) {
      j["energy_before_j"] = plan.before->layers[i].energy_j.value;
      j["energy_j"] = plan.after->layers[i].energy_j.value;
    }
    layers.push_back(std::move(j));
  }
  return layers;
}

void print_json_plan(const PruneArguments& o, const PruneOptions& p, const Network& network,
                     const CheckedPlan& checked, const StoredDevice& device) {
  const PrunePlan& plan = checked.plan;
  const Json nowhere = Json::object();  // by FLOPs no device is asked
  Json out = json_header(plan.after ? device.fingerprint : nowhere, plan.after && plan.after->modelled);
  out["model"] = network.name();
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["by"] = o.by;
  out["budget"] = {{"text", o.budget},
                   {o.by_energy() ? "energy_j" : "flops", plan.budget},
                   {"risk", p.risk ? Json(*p.risk) : Json(nullptr)},
                   {o.by_energy() ? "bound_j" : "bound_flops", plan.bound}};
  out["rank"] = o.rank;
  out["search"] = {{"kind", o.search},
                   {"seed", o.model.recipe.seed},
                   {"candidates", plan.candidates},
                   {"within_budget", plan.within},
                   {"time_s", plan.seconds}};
  out["unchanged"] = plan.unchanged;
  out["before"] = state_json(plan.before, plan.cost_before);
  out["after"] = state_json(plan.after, plan.cost_after);
  out["share"] = whole(plan, true) / whole(plan, false);
  if (checked.checks > 0) {
    out["measured"] = {
        {"share", checked.measured.share}, {"error", checked.measured.error}, {"checks", checked.checks}};
  }
  out["groups"] = Json::array();
  for (const GroupPlan& g : plan.groups) {
    Json j = {{"name", g.group.name},
              {"layers", g.group.nodes},
              {"channels_before", g.group.channels},
              {"channels", g.channels},
              {"untouched", g.untouched.empty() ? Json(nullptr) : Json(g.untouched)}};
    if (!g.kept.empty()) j["kept"] = g.kept;
    out["groups"].push_back(std::move(j));
  }
  out["layers"] = layers_json(plan);
  out["network"] = network_to_json(plan.network);
  print_json(out);
}

std::string amount_text(const PrunePlan& plan, double amount) {
  return plan.after ? joules_text(amount) : count_text(amount) + "FLOPs";
}

void print_text(const PruneArguments& o, const PruneOptions& p, const Network& network,
                const CheckedPlan& checked, const StoredDevice& device) {
  const PrunePlan& plan = checked.plan;
  std::string where;
  if (plan.after) {
    where = fmt::format(" on {}, {}, meter {}{}", device.fingerprint.value("name", "?"),
                        o.model.recipe.word(), device.fingerprint.value("meter", "?"),
                        plan.after->modelled ? " (modelled, not measured, energy)" : "");
  }
  say(fmt::format("{} at batch {}{}", network.name(), o.model.batch, where));
  print("\n");
  const char* what = plan.after ? "energy" : "FLOPs";
  Table table{{"layer", "kind", "channels", "pruned to", what, "pruned to", "share"},
              {},
              {false, false, true, true, true, true, true},
              1};
  for (std::size_t i = 0; i < plan.layers_before.size(); ++i) {
    const Layer &a = plan.layers_before[i], &b = plan.layers_after[i];
    const double before = energy_or_flops(plan, i, false), after = energy_or_flops(plan, i, true);
    table.rows.push_back({a.name, a.kind.word(), fmt::format("{}>{}", a.channels.in, a.channels.out),
                          fmt::format("{}>{}", b.channels.in, b.channels.out), amount_text(plan, before),
                          amount_text(plan, after), percent_text(after / before)});
  }
  print(table);
  print("\n");
  say(fmt::format("{} per iteration instead of {} ({}); the budget is {}",
                  amount_text(plan, whole(plan, true)), amount_text(plan, whole(plan, false)),
                  percent_text(whole(plan, true) / whole(plan, false)), amount_text(plan, plan.budget)));
  if (plan.after && p.risk) {
    say(fmt::format("at most {} with a probability of {}", joules_text(plan.bound),
                    percent_text(1 - *p.risk)));
  }
  if (plan.after && plan.before->unmeasured > 0) {
    const Estimate& e = *plan.after;
    say(fmt::format(
        "{} of the energy before, {} of it after, is of layers that were never measured on the device; what "
        "else was measured tells them: {} to {} (95%). Measured first, by ampere profile, they are told "
        "closer",
        percent_text(plan.before->unmeasured), percent_text(e.unmeasured), joules_text(e.energy_j.low),
        joules_text(e.energy_j.high)));
  }
  if (checked.checks > 0 && !plan.unchanged) {
    say(fmt::format("measured: {:.1f}% of the original, standard error {:.1f}%, after {} check{}",
                    100 * checked.measured.share, 100 * checked.measured.error, checked.checks,
                    checked.checks == 1 ? "" : "s"));
  }
  say(fmt::format("{} parameters instead of {} ({})", count_text(plan.cost_after.parameters),
                  count_text(plan.cost_before.parameters),
                  percent_text(plan.cost_after.parameters / plan.cost_before.parameters)));
  if (plan.unchanged) {
    say("the network keeps to the budget as it is: nothing was pruned");
  } else {
    say(fmt::format("{} candidates in {} ({} per second), {} within the budget", plan.candidates,
                    seconds_text(plan.seconds),
                    count_text(static_cast<double>(plan.candidates) / plan.seconds), plan.within));
  }
  if (!o.output.empty()) say("the network is in " + o.output);
}

CheckedPlan checked_plan(const PruneArguments& o, const PruneOptions& p, const Network& network,
                         StoredDevice& device) {
  const Session session = open_session(o.common);
  device = choose_device(*session.store, session.device_id);
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.model.recipe, session.fingerprint));
  PruneCheckOptions c{o.checks, o.data, {}};
  if (!o.common.quiet && !o.common.json) {
    c.on_check = [](int check, double estimated, const MeasuredShare& m) {
      warn(
          fmt::format("check {}: {:.1f}% of the original estimated, {:.1f}% measured, standard error {:.1f}%",
                      check, 100 * estimated, 100 * m.share, 100 * m.error));
    };
  }
  return prune_with_checks(session, profile, network, setup_of(o.model), p, c);
}

CheckedPlan plan_for(const PruneArguments& o, const PruneOptions& p, const Network& network,
                     StoredDevice& device) {
  if (!o.by_energy()) return {prune_by_flops(network, o.model.batch, p), {}, 0};
  if (o.checks > 0) return checked_plan(o, p, network, device);
  Store store = Store::to_read(o.common.store);
  device = device_asked_for(store, o.common.device);
  DeviceProfile profile(store, device.id, stored_word(o.model.recipe, device.fingerprint));
  return {prune(profile, network, o.model.batch, p), {}, 0};
}

void run(const PruneArguments& o) {
  const LoadedModel model = load_model(o.model, o.common);
  const PruneOptions p = prune_options(o);
  StoredDevice device;
  const CheckedPlan checked = [&] {
    try {
      return plan_for(o, p, model.network, device);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotProfiled) throw;
      throw Error(error.kind(), fmt::format("{}\nrun: {}", error.what(), profile_command(o.model, o.common)));
    }
  }();
  const PrunePlan& plan = checked.plan;
  if (!o.output.empty()) write_file(o.output, network_to_json(plan.network).dump(1) + "\n");
  o.common.json ? print_json_plan(o, p, model.network, checked, device)
                : print_text(o, p, model.network, checked, device);
}

}  // namespace

void add_prune(CLI::App& app) {
  auto o = std::make_shared<PruneArguments>();
  CLI::App* verb =
      app.add_subcommand("prune", "Fewer channels, so that training a network fits a budget of energy");
  add_model_options(*verb, o->model);
  verb->add_option("--budget", o->budget, "A share (50%), or energy: 40J/iter, 2kWh/job")->required();
  verb->add_option("--risk", o->risk, "Chance that the budget may be exceeded, by the interval (5%)");
  verb->add_option("--by", o->by, "What the budget is a share of: energy, or flops (needs no profile)")
      ->check(CLI::IsMember({"energy", "flops"}));
  verb->add_option("--rank", o->rank, "Best within the budget: most parameters, most flops, or best score")
      ->check(CLI::IsMember({"parameters", "flops", "score"}));
  verb->add_option("--scores", o->scores, "With --rank score: JSON file of scores by layer or channel");
  verb->add_option("--multiple-of", o->multiple_of, "Channels that change become multiples of this")
      ->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  verb->add_option("--min-channels", o->min_channels, "Fewest of any layer: a number, or a share (10%)");
  verb->add_option("--keep", o->keep, "Layers whose channels stay as they are")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--search", o->search, "evolve, or random (plain random channel pruning)")
      ->check(CLI::IsMember({"evolve", "random"}));
  verb->add_option("--candidates", o->candidates, "How many to look at")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  verb->add_option("--check", o->checks, "Train the choice for a moment and choose again, so often at most")
      ->check(CLI::Range(0, 100));
  verb->add_option("--data", o->data, "Folder of IDX files to train on in a check, instead of random data");
  verb->add_option("--epochs", o->epochs, "Epochs of the job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
  verb->add_option("--samples", o->samples, "Samples per epoch, for a budget per job")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  verb->add_option("--mode", o->mode, "How it will be trained: eager, or replay (steps captured in a graph)")
      ->check(CLI::IsMember({"eager", "replay"}));
  verb->add_option("-o,--output", o->output, "Write the pruned network to this file, as JSON");
  add_recipe_options(*verb, o->model);
  verb->get_option("--seed")->description("Seed of the search");
  add_worker_options(*verb, o->common);
  add_store_options(*verb, o->common);
  add_device_option(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->callback([o] { run(*o); });
}

}  // namespace ampere
