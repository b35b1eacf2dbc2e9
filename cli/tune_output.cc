#include "tune_output.h"

#include <fmt/core.h>

#include "session/session.h"
#include "tariff_options.h"
#include "text.h"
#include "tune/search.h"

namespace ampere {
namespace {

std::string share_text(const Interval& saved) {
  // Rounded so that an interval around nothing is read as nothing.
  return fmt::format("{:.1f}% ({:.1f}% to {:.1f}%)", 100 * saved.value, 100 * saved.low, 100 * saved.high);
}

std::string change_of_time(const Interval& saved) {
  return saved.value >= 0 ? fmt::format("{:.1f}% quicker", 100 * saved.value)
                          : fmt::format("{:.1f}% slower", -100 * saved.value);
}

void print_outcomes(const TuneOptions& o, const Tuned& t) {
  Table table{{"", "batch", "recipe", "power", "energy (95% interval)", "time (95% interval)"},
              {},
              {false, true, false, false, false, false},
              2};
  if (o.tariff.price_per_kwh || o.price_per_hour > 0) table.header.push_back("cost");
  if (o.tariff.carbon_g_per_kwh) table.header.push_back("emits");
  auto row = [&](std::size_t i) {
    const TuneOutcome& x = t.outcomes[i];
    const std::string mark = i == t.best && i == t.present ? "best, now"
                             : i == t.best                 ? "best"
                             : i == t.present              ? "now"
                                                           : "";
    table.rows.push_back({mark + (x.measured ? "*" : ""), std::to_string(x.setting.batch),
                          x.setting.recipe.word() + (x.setting.channels_last ? ", channels last" : ""),
                          PowerSetting{x.setting.power_limit_w, x.setting.clock_mhz}.text(),
                          interval_text(x.energy_j, joules_text), interval_text(x.time_s, seconds_text)});
    if (x.cost) table.rows.back().push_back(money_text(x.cost->value, o.tariff.currency));
    if (o.tariff.carbon_g_per_kwh)
      table.rows.back().push_back(carbon_text(bill_of(o.tariff, x.energy_j).carbon_g->value));
  };
  const bool shown = t.outcomes[t.present].on_front;
  for (const std::size_t i : t.front) row(i);
  if (!shown) row(t.present);
  if (!t.outcomes[t.best].on_front) row(t.best);
  print(table);
}

void print_choice(const TuneOptions& o, const Tuned& t) {
  const TuneOutcome &best = t.outcomes[t.best], &present = t.outcomes[t.present];
  say(fmt::format("for {}: {}. Against the present setting it saves {} of the energy and is {}",
                  to_word(o.objective), setting_text(best.setting), share_text(t.saved_energy),
                  change_of_time(t.saved_time)));
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    const TuneStep& s = t.steps[i];
    say(fmt::format("  {} saves {}{}, {}", s.change, i ? "another " : "", share_text(s.energy),
                    change_of_time(s.time)));
  }
  for (std::size_t i = 1; i < t.singles.size(); ++i) {  // the first step is by itself already
    const TuneStep& s = t.singles[i];
    say(fmt::format("  by itself, {} saves {}, {}", s.change, share_text(s.energy), change_of_time(s.time)));
  }
  if (best.setting.recipe.precision != present.setting.recipe.precision ||
      best.setting.recipe.optimizer != present.setting.recipe.optimizer ||
      best.setting.batch != present.setting.batch)
    say("another precision, optimizer or batch changes how the network learns; whether it reaches the same "
        "accuracy is not judged here");
  if (best.setting.power_limit_w > 0 || best.setting.clock_mhz > 0)
    say(fmt::format("to train so: ampere run {} -- COMMAND",
                    best.setting.power_limit_w > 0
                        ? fmt::format("--power-limit {:.6g}", best.setting.power_limit_w)
                        : fmt::format("--clock {:.6g}", best.setting.clock_mhz)));
}

void print_checks(const std::vector<TuneCheckResult>& checks) {
  for (const TuneCheckResult& c : checks) {
    say(fmt::format(
        "* trained for a moment: {}: {} and {} for the job, {:+.1f}% and {:+.1f}% off the estimate{}",
        setting_text(c.setting), joules_text(c.energy_j), seconds_text(c.time_s),
        100 * (c.energy_j / c.estimated_energy_j - 1), 100 * (c.time_s / c.estimated_time_s - 1),
        c.note.empty() ? "" : "; " + c.note));
  }
}

Json setting_json(const TrainingSetting& s) {
  return {{"batch", s.batch},
          {"recipe", s.recipe.word()},
          {"precision", s.recipe.precision},
          {"optimizer", s.recipe.optimizer},
          {"channels_last", s.channels_last},
          {"autotune", s.recipe.autotune},
          {"threads", s.recipe.threads},
          {"power_limit_w", s.power_limit_w > 0 ? Json(s.power_limit_w) : Json()},
          {"clock_mhz", s.clock_mhz > 0 ? Json(s.clock_mhz) : Json()}};
}

Json share_json(const Interval& i) { return {{"value", i.value}, {"low", i.low}, {"high", i.high}}; }

Json steps_json(const std::vector<TuneStep>& steps) {
  Json out = Json::array();
  for (const TuneStep& s : steps)
    out.push_back(
        {{"change", s.change}, {"energy_saved", share_json(s.energy)}, {"time_saved", share_json(s.time)}});
  return out;
}

}  // namespace

void print_tuned(const TunedJob& job) {
  const TuneOptions& o = job.options;
  const Tuned& t = job.tuned;
  const Json& fingerprint = job.device.fingerprint;
  print("{} on {}, {} samples, {} epoch{}, meter {}{}\n", job.model, fingerprint.value("name", "?"),
        o.samples, o.epochs, o.epochs == 1 ? "" : "s", fingerprint.value("meter", "?"),
        t.modelled ? " (modelled, not measured, energy)" : "");
  print("{} settings; those below are the ones that no other beats in both energy and time{}\n\n",
        t.outcomes.size(), t.outcomes[t.present].on_front ? "" : ", and the present one");
  print_outcomes(o, t);
  print("\n");
  if (t.best == t.present)
    say(fmt::format("for {} the present setting is the best of them", to_word(o.objective)));
  else
    print_choice(o, t);
  for (const TuneAdvice& advice : t.advice) say(fmt::format("advice: {}; {}", advice.what, advice.evidence));
  print_checks(job.checks);
  if (!t.left_out.empty())
    say(fmt::format(
        "{} combinations of batch and recipe are not known here, such as {}; ampere profile measures them",
        t.left_out.size(), t.left_out.front()));
}

Json tuned_json(const TunedJob& job) {
  const TuneOptions& o = job.options;
  const Tuned& t = job.tuned;
  Json out = json_header(job.device.fingerprint, t.modelled);
  out["device_id"] = job.device.id;
  out["model"] = job.model;
  out["samples"] = o.samples;
  out["epochs"] = o.epochs;
  out["objective"] = to_word(o.objective);
  out["most_slower"] = o.most_slower ? Json(*o.most_slower) : Json();
  out["deadline_s"] = o.deadline_s ? Json(*o.deadline_s) : Json();
  put_tariff(out, o.tariff);
  out["present"] = t.present;
  out["best"] = t.best;
  out["front"] = t.front;
  out["energy_saved"] = share_json(t.saved_energy);
  out["time_saved"] = share_json(t.saved_time);
  out["steps"] = steps_json(t.steps);
  out["singles"] = steps_json(t.singles);
  out["left_out"] = t.left_out;
  out["advice"] = Json::array();
  for (const TuneAdvice& a : t.advice) out["advice"].push_back({{"what", a.what}, {"evidence", a.evidence}});
  out["outcomes"] = Json::array();
  for (const TuneOutcome& x : t.outcomes) {
    Json j = setting_json(x.setting);
    j["energy_j"] = x.energy_j.value;
    j["energy_low_j"] = x.energy_j.low;
    j["energy_high_j"] = x.energy_j.high;
    j["time_s"] = x.time_s.value;
    j["time_low_s"] = x.time_s.low;
    j["time_high_s"] = x.time_s.high;
    j["on_front"] = x.on_front;
    j["allowed"] = x.allowed;
    j["measured"] = x.measured;
    put_bill(j, o.tariff, x.energy_j);
    if (x.cost) {  // with the device's hours
      j["cost"] = x.cost->value;
      j["cost_low"] = x.cost->low;
      j["cost_high"] = x.cost->high;
    }
    out["outcomes"].push_back(j);
  }
  out["checks"] = Json::array();
  for (const TuneCheckResult& c : job.checks) {
    Json j = setting_json(c.setting);
    j["energy_j"] = c.energy_j;
    j["time_s"] = c.time_s;
    j["estimated_energy_j"] = c.estimated_energy_j;
    j["estimated_time_s"] = c.estimated_time_s;
    j["note"] = c.note;
    out["checks"].push_back(j);
  }
  return out;
}

}  // namespace ampere
