// ampere profile: measures the layers of a network on this device. Once per device, resumable.
#include "session/profile.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/error.h"
#include "common.h"
#include "measure/recipe.h"
#include "text.h"
#include "verbs.h"

namespace ampere {
namespace {

// Less leaves most sizes of most layers unknown.
constexpr double kFewMinutes = 2;

struct ProfileArguments {
  CommonOptions common;
  ModelOptions model;
  ProfilingOptions profiling;
  std::string target;  // "5%"; empty: the surfaces themselves say when they are known
  double minutes = 5;  // without a network
  std::string from;    // a relative of the device; empty: none
};

// Says, when somebody stops it from the keyboard, that nothing is lost. It ends by the signal all the same.
class SaysWhatIsKept {
 public:
  SaysWhatIsKept() {
    struct sigaction say {};
    say.sa_handler = [](int number) {
      constexpr char kKept[] =
          "\nampere: stopped; what was measured so far is kept, and the same command goes on from there\n";
      [[maybe_unused]] const auto written = write(STDERR_FILENO, kKept, sizeof kKept - 1);
      raise(number);
    };
    say.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler == SIG_DFL) sigaction(SIGINT, &say, nullptr);
  }
  ~SaysWhatIsKept() { sigaction(SIGINT, &before_, nullptr); }
  SaysWhatIsKept(const SaysWhatIsKept&) = delete;
  SaysWhatIsKept& operator=(const SaysWhatIsKept&) = delete;

 private:
  struct sigaction before_ {};
};

double target_of(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const bool good = end != text.c_str() && (*end == '\0' || std::string(end) == "%");
  if (!good || !(percent > 0 && percent < 100))
    throw bad_input("--target must be a percentage above 0 and below 100, such as 5%, found \"" + text +
                    "\"");
  return percent / 100;
}

void print_refinement(const Refinement& r, const std::string& target) {
  print("{}",
        wrapped(r.reached
                    ? fmt::format("the network's energy is known to {} at 95% ({} layers measured "
                                  "at their own channels in {})",
                                  percent_text(r.half_width), r.measured, duration_text(r.seconds))
                    : fmt::format("{} was not reached: the network's energy is known to {} at 95% "
                                  "with every layer that matters measured; the rest is how far whole "
                                  "networks are off the sums of their layers here. More --whole-networks may "
                                  "narrow it",
                                  target, percent_text(r.half_width)),
                2, terminal_width()));
}

Json to_json(const MethodProfile& p) {
  Json surfaces = Json::array();
  for (const SurfaceSummary& s : p.summary.surfaces) {
    surfaces.push_back({{"surface", s.key},
                        {"measured", s.measured},
                        {"reused", s.reused},
                        {"refused", s.refused},
                        {"ended", to_word(s.why)},
                        {"deviation", s.deviation}});
  }
  return {{"surfaces", surfaces},
          {"points_measured", p.summary.measured},
          {"points_reused", p.summary.reused},
          {"points_unstable", p.summary.unstable},
          {"time_s", p.summary.seconds},
          {"fitting_time_s", p.summary.fitting_seconds}};
}

void print_text(const MethodProfile& p) {
  Table table{{"surface", "new", "known", "deviation", "ended by"}, {}, {false, true, true, true, false}, 0};
  for (const SurfaceSummary& s : p.summary.surfaces) {
    table.rows.push_back({s.key, std::to_string(s.measured), std::to_string(s.reused),
                          percent_text(s.deviation), to_word(s.why)});
  }
  print(table);
  print("\n{}: {} points measured, {} already known, {} in all, of which fitting {}\n", p.method,
        p.summary.measured, p.summary.reused, duration_text(p.summary.seconds),
        seconds_text(p.summary.fitting_seconds));
  if (p.summary.unstable > 0) {
    print("{} points never settled to the target error; a quieter machine or --point-seconds helps\n",
          p.summary.unstable);
  }
}

Json profile_header(const ProfileArguments& o, const Session& session, const DeviceProfile& profile,
                    const LoadedModel& model) {
  Json out =
      json_header(session.fingerprint, is_modelled(profile, model, setup_of(o.model), o.profiling.methods));
  out["model"] = model.network.name();
  out["batch"] = o.model.batch;
  out["recipe"] = o.model.recipe.word();
  out["store"] = session.store->path();
  return out;
}

// No network in particular: the device itself.
void run_device(const ProfileArguments& o) {
  Session session = open_session(o.common);
  const UntilDelivered delivered(*session.store);
  const SaysWhatIsKept interrupted;
  std::optional<RelativeSummary> relative;
  if (!o.from.empty()) relative = learn_from(*session.store, session.device_id, o.from);
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.model.recipe, session.fingerprint));
  const DeviceSummary done = profile_device(session, profile, o.minutes, o.model.recipe, shown(o.common));
  if (o.common.json) {
    Json out = json_header(session.fingerprint, done.modelled);
    out["recipe"] = o.model.recipe.word();
    out["store"] = session.store->path();
    out["minutes"] = o.minutes;
    out["device_layers"] = {{"candidates", done.candidates},
                            {"measured", done.measured},
                            {"known", done.known},
                            {"refused", done.refused},
                            {"time_s", done.seconds}};
    if (relative) {
      out["from"] = {
          {"device_id", relative->device}, {"sister", relative->sister}, {"points", relative->points}};
    }
    print_json(out);
    return;
  }
  if (relative) {
    print("{} points of {} count here, too\n", relative->points,
          relative->sister ? "another card of this name" : "this hardware under other software");
  }
  print("{} layers of random networks measured in {}, {} known before", done.measured,
        duration_text(done.seconds), done.known);
  if (done.refused > 0) print(", {} too large for the device's memory", done.refused);
  print("\nkept in {}; ampere estimate MODEL now tells any network in this precision{}\n",
        session.store->path(),
        o.minutes < kFewMinutes && !relative
            ? ", roughly: go on for some minutes (--minutes 5) to know better"
            : "");
}

// What a shell's variable that is not set leaves behind is no answer to what was asked.
void refuse_empty(const CLI::App& verb, const ProfileArguments& o) {
  if (verb.count("MODEL") > 0 && o.model.model.empty())
    throw bad_input("MODEL is empty; name a network, or leave it away to profile the device itself");
  if (verb.count("--from") > 0 && o.from.empty())
    throw bad_input("--from is empty; name a store of another such card, or a device's id");
}

// What is about one network makes no sense without one, and the other way round.
void check_arguments(const CLI::App& verb, bool has_model) {
  const char* of_networks[] = {"--batch",         "--input",       "--dim",       "--restore-batchnorm",
                               "--method",        "--target",      "--exact",     "--ignore-unsupported",
                               "--points-1d",     "--points-2d",   "--deviation", "--energy-points-1d",
                               "--point-seconds", "--point-error", "--guide",     "--energy-points-2d",
                               "--whole-networks"};
  if (has_model) {
    for (const char* option : {"--minutes", "--from"}) {
      if (verb.count(option) > 0)
        throw bad_input(std::string(option) + " is for profiling the device itself; leave MODEL away, or " +
                        option);
    }
    return;
  }
  for (const char* option : of_networks) {
    if (verb.count(option) > 0)
      throw bad_input(std::string(option) +
                      " goes with a MODEL; without one the device itself is profiled, " +
                      "for so many --minutes");
  }
}

void run(ProfileArguments o) {
  const LoadedModel model = load_model(o.model, o.common);
  parse_layers(model.network, o.model.batch);  // bad shapes are told before anything is started
  if (!o.target.empty()) o.profiling.target = target_of(o.target);
  check(o.profiling);
  Session session = open_session(o.common);
  const UntilDelivered delivered(*session.store);
  const SaysWhatIsKept interrupted;
  DeviceProfile profile(*session.store, session.device_id, stored_word(o.model.recipe, session.fingerprint));
  const ProfilingSummary done =
      profile_as_asked(session, profile, model, setup_of(o.model), o.profiling, shown(o.common));
  if (o.common.json) {
    Json out = profile_header(o, session, profile, model);
    for (const MethodProfile& p : done.methods) out["methods"][p.method] = to_json(p);
    if (done.refinement) {
      out["target"] = {{"wanted", o.profiling.target},
                       {"half_width", done.refinement->half_width},
                       {"reached", done.refinement->reached},
                       {"layers_measured", done.refinement->measured}};
    }
    if (done.exact) {
      out["exact"] = {{"layers", done.exact->layers},
                      {"measured", done.exact->measured},
                      {"known", done.exact->known},
                      {"time_s", done.exact->seconds}};
    }
    print_json(out);
    return;
  }
  for (const MethodProfile& p : done.methods) print_text(p);
  if (done.refinement) print_refinement(*done.refinement, o.target);
  if (done.exact) {
    print("{} of its {} distinct layers measured at their own channels in {}, {} known before\n",
          done.exact->measured, done.exact->layers, duration_text(done.exact->seconds), done.exact->known);
  }
  print("kept in {}\n", session.store->path());
}

}  // namespace

void add_profile(CLI::App& app) {
  auto o = std::make_shared<ProfileArguments>();
  CLI::App* verb =
      app.add_subcommand("profile", "Measure the layers of a network, or the device itself (resumable)");
  add_model_options(*verb, o->model);
  verb->get_option("MODEL")->required(false)->description(
      "Network: a zoo name or a file; without: the device itself");
  verb->add_option("--minutes", o->minutes, "Without MODEL: how long [5]")->check(CLI::Range(0.01, 1440.0));
  verb->add_option("--from", o->from, "Without MODEL: a store of another such card, or a device's id");
  verb->add_option("--method", o->profiling.methods, "split, paper, neuralpower, or several: split,paper")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--target", o->target, "End when this network's energy is known this well at 95%: 5%");
  verb->add_flag("--exact", o->profiling.exact,
                 "Only the layers of this network, once each, at its own channels");
  add_profiling_options(*verb, o->profiling);
  add_recipe_options(*verb, o->model);
  add_worker_options(*verb, o->common);
  add_reconnect_option(*verb, o->common);
  add_store_options(*verb, o->common);
  add_output_options(*verb, o->common);
  verb->add_flag("--progress-json", o->common.progress_json, "Progress on standard error as lines of JSON");
  verb->callback([o, verb] {
    refuse_empty(*verb, *o);
    check_arguments(*verb, !o->model.model.empty());
    o->model.model.empty() ? run_device(*o) : run(*o);
  });
}

}  // namespace ampere
