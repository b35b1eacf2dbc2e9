#include "meter/external_meter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "meter/external_series.h"

extern char** environ;

namespace ampere {
namespace {

constexpr int kPollMilliseconds = 20;
constexpr std::size_t kLongestLine = 65536;

// A descriptor that lines come from; the thread reads them as they arrive.
class ExternalMeter : public Meter {
 public:
  // Where the input `grows` (a log) more may come after its end, and its first line is only the rest of one.
  ExternalMeter(MeterInfo info, int descriptor, bool grows, Seconds patience)
      : info_(std::move(info)), descriptor_(descriptor), grows_(grows), thread_([this] { follow(); }) {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> wait(patience.value());
    const bool came = arrived_.wait_for(lock, wait, [this] { return series_.ready() || failed_; });
    if (came && !failed_) return;
    std::exception_ptr failed = failed_;
    lock.unlock();
    stop();
    if (failed) std::rethrow_exception(failed);
    no_meter("external meter",
             "no two samples came in " + std::to_string(patience.value()) + " s from " + info_.description);
  }
  ~ExternalMeter() override { stop(); }
  ExternalMeter(const ExternalMeter&) = delete;
  ExternalMeter& operator=(const ExternalMeter&) = delete;

  const MeterInfo& info() const override { return info_; }
  Reading read() override {
    const std::lock_guard lock(mutex_);
    if (failed_) std::rethrow_exception(failed_);
    const Seconds at = now();
    return {series_.energy_at(at), at};
  }

 private:
  void follow() {
    std::string pending;
    rest_of_line_ = grows_ && lseek(descriptor_, -1, SEEK_END) >= 0;
    try {
      while (!end_) take_some(pending);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = std::current_exception();
    }
    arrived_.notify_all();
  }

  void take_some(std::string& pending) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (grows_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
    } else if (poll(&waiting, 1, kPollMilliseconds) == 0) {
      return;
    }
    char buffer[4096];
    const ssize_t size = ::read(descriptor_, buffer, sizeof buffer);
    const Seconds arrival = now();
    if (size < 0) no_meter("external meter", "reading failed from " + info_.description);
    if (size == 0 && !grows_) no_meter("external meter", "the command ended: " + info_.description);
    pending.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      const auto sample = rest_of_line_ ? std::nullopt : parse_external_line(pending.substr(0, end));
      pending.erase(0, end + 1);
      rest_of_line_ = false;
      if (!sample) continue;
      const std::lock_guard lock(mutex_);
      series_.add(*sample, arrival);
    }
    if (pending.size() > kLongestLine)
      no_meter("external meter", "a line without an end from " + info_.description);
    arrived_.notify_all();
  }

  void stop() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

  MeterInfo info_;
  int descriptor_;
  bool grows_;
  bool rest_of_line_ = false;
  std::atomic<bool> end_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  ExternalSeries series_;
  std::exception_ptr failed_;
  std::thread thread_;  // last: it uses all of the above
};

// A shell command in a process group of its own, so that all of it can be ended.
class Child {
 public:
  explicit Child(const std::string& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) no_meter("external meter", "no pipe for the command");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string text = command;
    char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
    const int error = posix_spawn(&pid_, shell.c_str(), &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    output_ = ends[0];
    if (error != 0) {
      close(output_);
      no_meter("external meter", "the shell cannot be started for: " + command);
    }
  }
  ~Child() {
    kill(-pid_, SIGTERM);
    for (int i = 0; i < 50; ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
    }
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

class ExecMeter : public Meter {
 public:
  ExecMeter(const std::string& command, Seconds patience)
      : child_(command),
        lines_({"exec", "board", false, "exec:" + command}, child_.output(), false, patience) {}
  const MeterInfo& info() const override { return lines_.info(); }
  Reading read() override { return lines_.read(); }

 private:
  Child child_;
  ExternalMeter lines_;
};

}  // namespace

std::unique_ptr<Meter> make_exec_meter(const std::string& command, Seconds patience) {
  return std::make_unique<ExecMeter>(command, patience);
}

std::unique_ptr<Meter> make_log_meter(const std::string& path, Seconds patience) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) no_meter("external meter", "cannot read " + path + "; start the power monitor first");
  return std::make_unique<ExternalMeter>(MeterInfo{"log", "board", false, "log:" + path}, descriptor, true,
                                         patience);
}

}  // namespace ampere
