// Limits and clocks are checked, set, and put back whatever happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "control/guardian.h"
#include "control/settings.h"
#include "meter/nvml_rig_for_test.h"

namespace ampere {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::string text;
  std::getline(std::ifstream(file), text);
  return text;
}

// A folder with the state of a GPU and with two CPUs.
class Machine {
 public:
  Machine() {
    char name[] = "/tmp/ampere-control-XXXXXX";
    folder_ = mkdtemp(name);
    put(state(), "700000 0");
    for (const char* cpu : {"cpu0", "cpu1"}) {
      const fs::path at = folder_ / "devices/system/cpu" / cpu / "cpufreq";
      fs::create_directories(at);
      put(at / "scaling_max_freq", "3600000");
      put(at / "cpuinfo_min_freq", "1200000");
      put(at / "cpuinfo_max_freq", "3600000");
    }
    environment_.emplace_back(std::make_unique<Environment>("FAKE_NVML_STATE", state().c_str()));
    environment_.emplace_back(std::make_unique<Environment>("AMPERE_SYSFS_ROOT", folder_.c_str()));
    environment_.emplace_back(std::make_unique<Environment>("XDG_RUNTIME_DIR", folder_.c_str()));
  }
  ~Machine() { fs::remove_all(folder_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  fs::path state() const { return folder_ / "gpu"; }
  fs::path cpu(const std::string& name) const {
    return folder_ / "devices/system/cpu" / name / "cpufreq/scaling_max_freq";
  }

 private:
  static void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text << "\n"; }
  fs::path folder_;
  NvmlRig rig_;
  std::vector<std::unique_ptr<Environment>> environment_;
};

WantedSettings limit(double watts) {
  WantedSettings wanted;
  wanted.power_limit_w = watts;
  return wanted;
}

TEST(Undo, PassesThroughALine) {
  const Undo undo{Undo::Kind::kPowerLimit, "GPU-1", "700000"};
  const Undo read = Undo::from_line(undo.line());
  EXPECT_EQ(read.kind, undo.kind);
  EXPECT_EQ(read.target, undo.target);
  EXPECT_EQ(read.value, undo.value);
  EXPECT_EQ(read.command(), "sudo nvidia-smi -i GPU-1 -pl 700");
  EXPECT_THROW(Undo::from_line("nonsense"), Error);
}

TEST(Settings, AreSetAndPutBack) {
  Machine machine;
  WantedSettings wanted = limit(300);
  wanted.clock_mhz = 1305;
  wanted.cpu_clock_mhz = 2000;
  Guardian guardian;
  const AppliedSettings applied = apply_settings(wanted, [&](const Undo& undo) { guardian.promise(undo); });
  EXPECT_EQ(text_of(machine.state()), "300000 1305");
  EXPECT_EQ(text_of(machine.cpu("cpu0")), "2000000");
  EXPECT_EQ(text_of(machine.cpu("cpu1")), "2000000");
  ASSERT_EQ(applied.changes.size(), 3u);
  EXPECT_EQ(applied.changes[0].device, "GPU 0 (Fake GPU)");
  EXPECT_NEAR(*applied.changes[0].before, 700, 1e-9);
  EXPECT_NEAR(applied.changes[0].now, 300, 1e-9);
  EXPECT_FALSE(applied.changes[1].before);  // a lock cannot be read
  EXPECT_THAT(guardian.end(), IsEmpty());
  EXPECT_EQ(text_of(machine.state()), "700000 0");
  EXPECT_EQ(text_of(machine.cpu("cpu1")), "3600000");
}

TEST(Settings, AreRefusedBeforeAnythingIsChanged) {
  Machine machine;
  const auto refuses = [&](const WantedSettings& wanted) -> std::string {
    try {
      apply_settings(wanted, [](const Undo&) { FAIL() << "nothing may be changed"; });
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(refuses(limit(100)), HasSubstr("200 to 700 W"));
  EXPECT_THAT(refuses(limit(900)), HasSubstr("900 W cannot be set"));
  WantedSettings fast;
  fast.clock_mhz = 3000;
  EXPECT_THAT(refuses(fast), HasSubstr("up to 1980 MHz"));
  WantedSettings cpu = limit(300);
  cpu.cpu_clock_mhz = 9000;
  EXPECT_THAT(refuses(cpu), HasSubstr("1200 to 3600 MHz"));
  WantedSettings second = limit(300);
  second.gpus = "1";
  EXPECT_THAT(refuses(second), HasSubstr("no visible GPU '1'"));
  EXPECT_EQ(text_of(machine.state()), "700000 0");
}

TEST(Settings, NameTheAdministratorsCommand) {
  Machine machine;
  const Environment deny("FAKE_NVML_DENY", "1");
  Guardian guardian;
  try {
    apply_settings(limit(300), [&](const Undo& undo) { guardian.promise(undo); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kFailed);
    EXPECT_THAT(e.what(),
                HasSubstr("sudo nvidia-smi -i 0 -pl 300 (and afterwards: sudo nvidia-smi -i 0 -pl 700)"));
  }
  guardian.end();
  EXPECT_THAT(Guardian().left_behind(), IsEmpty());  // it was never changed
}

TEST(Guardian, TellsWhatItCannotPutBack) {
  Machine machine;
  Guardian guardian;
  guardian.promise({Undo::Kind::kPowerLimit, "GPU-gone", "700000"});
  EXPECT_THAT(guardian.end(), ElementsAre(HasSubstr("does not list this GPU")));
  EXPECT_THAT(guardian.end(), IsEmpty());  // once is enough
  // It is written down, and nothing is changed before that is in order.
  try {
    Guardian next;
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("put them back, then remove"));
  }
}

TEST(Guardian, IsOneAtATime) {
  Machine machine;
  Guardian first;
  EXPECT_THROW(Guardian second, Error);
  first.end();
  EXPECT_NO_THROW(Guardian third);
}

TEST(Guardian, IsReplacedWhenItIsKilled) {
  Machine machine;
  Guardian guardian;
  apply_settings(limit(300), [&](const Undo& undo) { guardian.promise(undo); });
  kill(guardian.pid(), SIGKILL);
  EXPECT_THAT(guardian.end(), IsEmpty());
  EXPECT_EQ(text_of(machine.state()), "700000 0");
}

// Both are killed at once: nobody puts anything back, and the next one does first.
TEST(Guardian, PutsBackWhatOthersLeftBehind) {
  Machine machine;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Guardian guardian;
    WantedSettings wanted = limit(300);
    wanted.cpu_clock_mhz = 2000;
    apply_settings(wanted, [&](const Undo& undo) { guardian.promise(undo); });
    kill(guardian.pid(), SIGKILL);
    siginfo_t gone;
    waitid(P_PID, static_cast<id_t>(guardian.pid()), &gone, WEXITED | WNOWAIT);
    const auto told = write(ready[1], "x", 1);
    pause();
    _exit(static_cast<int>(told));
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THROW(Guardian too_early, Error);  // it runs, and will put back what it has set
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(text_of(machine.state()), "300000 0");
  {
    Guardian next;
    EXPECT_THAT(next.left_behind(), ElementsAre(HasSubstr("-pl 700"), HasSubstr("cpu0"), HasSubstr("cpu1")));
    EXPECT_EQ(text_of(machine.state()), "700000 0");
    EXPECT_EQ(text_of(machine.cpu("cpu1")), "3600000");
    apply_settings(limit(400), [&](const Undo& undo) { next.promise(undo); });
    EXPECT_THAT(next.end(), IsEmpty());
    EXPECT_EQ(text_of(machine.state()), "700000 0");
  }
  Guardian last;
  EXPECT_THAT(last.left_behind(), IsEmpty());
  close(ready[0]);
  close(ready[1]);
}

// What would have been changed is not, when nobody is there to put it back.
TEST(Guardian, MustBeThereBeforeAChange) {
  Machine machine;
  Guardian guardian;
  kill(guardian.pid(), SIGKILL);
  siginfo_t gone;
  waitid(P_PID, static_cast<id_t>(guardian.pid()), &gone, WEXITED | WNOWAIT);
  EXPECT_THROW(apply_settings(limit(300), [&](const Undo& undo) { guardian.promise(undo); }), Error);
  EXPECT_EQ(text_of(machine.state()), "700000 0");
}

TEST(Guardian, OutlivesWhoMadeIt) {
  Machine machine;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Guardian guardian;
    const AppliedSettings applied =
        apply_settings(limit(300), [&](const Undo& undo) { guardian.promise(undo); });
    const auto told = write(ready[1], "x", 1);
    pause();
    _exit(static_cast<int>(told));
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(text_of(machine.state()), "300000 0");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // A limit against hanging for ever, not a claim about speed.
  for (int i = 0; i < 1200 && text_of(machine.state()) != "700000 0"; ++i) usleep(50'000);
  EXPECT_EQ(text_of(machine.state()), "700000 0");
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace ampere
