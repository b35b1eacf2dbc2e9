#include "run_command.h"

#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "common.h"
#include "meter/sysfs.h"
#include "text.h"

extern char** environ;

namespace ampere {
namespace {

// The keyboard's signals reach the program as well; it decides what to do, and we still tell its cost.
class IgnoreSignals {
 public:
  IgnoreSignals() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoreSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  IgnoreSignals(const IgnoreSignals&) = delete;
  IgnoreSignals& operator=(const IgnoreSignals&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction quit_ {};
};

// Set while a program runs that is to get what is sent to this one.
volatile sig_atomic_t running_program = 0;
void pass_on(int number) {
  if (running_program != 0) kill(static_cast<pid_t>(running_program), number);
}

// SIGTERM and SIGHUP go to the program; this one then ends as it does. Held back until there is a program.
class PassSignalsOn {
 public:
  explicit PassSignalsOn(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    sigemptyset(&passed_);
    sigaddset(&passed_, SIGTERM);
    sigaddset(&passed_, SIGHUP);
    sigprocmask(SIG_BLOCK, &passed_, &mask_);
    struct sigaction pass {};
    pass.sa_handler = pass_on;
    sigaction(SIGTERM, &pass, &terminate_);
    sigaction(SIGHUP, &pass, &hang_up_);
  }
  ~PassSignalsOn() {
    if (!wanted_) return;
    running_program = 0;
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGHUP, &hang_up_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  PassSignalsOn(const PassSignalsOn&) = delete;
  PassSignalsOn& operator=(const PassSignalsOn&) = delete;

  void to(pid_t program) {
    if (!wanted_) return;
    running_program = program;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  // The program is not to inherit what is held back, nor what is ignored.
  void prepare(posix_spawnattr_t& attributes, sigset_t& defaults) const {
    if (!wanted_) return;
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGHUP);
    posix_spawnattr_setsigmask(&attributes, &mask_);
  }

 private:
  bool wanted_;
  sigset_t passed_{};
  sigset_t mask_{};
  struct sigaction terminate_ {};
  struct sigaction hang_up_ {};
};

// Orphans of the program become children of this process, so that they can be found and waited for.
class AdoptOrphans {
 public:
  AdoptOrphans() {
    prctl(PR_GET_CHILD_SUBREAPER, &before_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, before_); }
  AdoptOrphans(const AdoptOrphans&) = delete;
  AdoptOrphans& operator=(const AdoptOrphans&) = delete;

 private:
  int before_ = 0;
};

// The number after the name in parentheses, which may contain anything, and the state: the parent. Absent
// where the process ended before it was read: a stream would throw then.
std::optional<pid_t> parent_of(const std::filesystem::path& process) {
  const std::string text = read_text(process / "stat").value_or("");
  const std::size_t name_ends = text.rfind(") ");
  if (name_ends == std::string::npos || name_ends + 4 > text.size()) return std::nullopt;
  return static_cast<pid_t>(std::strtol(text.c_str() + name_ends + 4, nullptr, 10));
}

std::set<pid_t> children() {
  std::set<pid_t> found;
  for (const std::filesystem::path& process : entries_of("/proc")) {
    const std::string name = process.filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (parent_of(process) == getpid()) found.insert(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// Waits for those of the adopted that have ended, which adds their CPU time to ours; returns how many have
// not.
int reap_orphans(const std::set<pid_t>& ours) {
  for (bool reaped = true; reaped;) {  // an orphan that is gone may leave us its own children
    reaped = false;
    int running = 0;
    for (const pid_t pid : children()) {
      if (ours.count(pid) != 0) continue;
      if (waitpid(pid, nullptr, WNOHANG) == pid)
        reaped = true;
      else
        ++running;
    }
    if (!reaped) return running;
  }
  return 0;
}

}  // namespace

MeteredRun run_command(const std::vector<std::string>& command, Meter& meter, bool pass_signals_on) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  const IgnoreSignals ignored;
  PassSignalsOn passed(pass_signals_on);
  passed.prepare(attributes, defaults);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                                           (pass_signals_on ? POSIX_SPAWN_SETSIGMASK : 0)));
  const AdoptOrphans adopt;
  const std::set<pid_t> ours = children();  // a meter may have started some
  const Reading before = meter.read();
  const Seconds start = now();
  pid_t pid = 0;
  const int code = posix_spawnp(&pid, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) throw bad_input(command[0] + ": cannot be run: " + std::strerror(code));
  passed.to(pid);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const Seconds end = now();
  const int still_running = reap_orphans(ours);
  const Reading after = meter.read();
  const int exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {after.energy - before.energy, end - start, after.at - before.at, exit_status, still_running};
}

Json figures_json(const std::vector<std::string>& command, const MeteredRun& run, const MeterInfo& info) {
  const bool moved = run.energy > Joules(0);
  return {{"schema_version", kOutputSchemaVersion},
          {"command", command},
          {"energy_j", moved ? Json(run.energy.value()) : Json(nullptr)},
          {"time_s", run.time.value()},
          {"metered_s", run.metered.value()},
          {"power_w", moved ? Json((run.energy / run.metered).value()) : Json(nullptr)},
          {"meter", info.name},
          {"scope", info.scope},
          {"modelled", info.modelled},
          {"still_running", run.still_running},
          {"exit_status", run.exit_status}};
}

void tell_figures(const MeteredRun& run, const MeterInfo& info, bool quiet) {
  const bool moved = run.energy > Joules(0);
  if (!quiet) {
    warn(fmt::format(
        "{} in {}{}, meter {} ({}{})", moved ? joules_text(run.energy.value()) : "energy unknown",
        seconds_text(run.time.value()), moved ? " at " + watts_text((run.energy / run.metered).value()) : "",
        info.name, info.scope, info.modelled ? ", modelled" : ""));
    if (!moved)
      warn("the meter did not move while the program ran; a longer run, or another --meter, may tell");
  }
  if (run.still_running > 0)
    warn(
        fmt::format("{} of the processes that the program started {} still running when it ended; what {} "
                    "from then on, and with the meter cpu-model also before, is not counted",
                    run.still_running, run.still_running == 1 ? "was" : "were",
                    run.still_running == 1 ? "it takes" : "they take"));
}

}  // namespace ampere
