#include "protocol/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace ampere {
namespace {

constexpr std::size_t kMaxLine = 64u << 20;
constexpr std::size_t kErrorsKept = 4096;
constexpr auto kPollForEnd = std::chrono::milliseconds(5);

int milliseconds_until(Process::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Process::Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// Both ends close on exec and lie above the standard descriptors, which may be closed in this process
// and would otherwise be overwritten by the child's.
struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> ends = {-1, -1};
    bool made = pipe2(ends.data(), O_CLOEXEC) == 0;
    for (int& end : ends) {
      if (!made || end > 2) continue;
      const int higher = fcntl(end, F_DUPFD_CLOEXEC, 3);
      made = higher >= 0;
      ::close(std::exchange(end, higher));
    }
    read = ends[0];
    write = ends[1];
    if (!made) throw Error(ErrorKind::kWorker, std::string("no pipe to the worker: ") + std::strerror(errno));
  }
  ~Pipe() {
    close_fd(read);
    close_fd(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take(int Pipe::*end) { return std::exchange(this->*end, -1); }
};

// Writing to a child that has died raises SIGPIPE. It is held back in this thread and thrown away, so
// that the signal settings of the program we are part of stay as they are.
class HeldSigpipe {
 public:
  HeldSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HeldSigpipe() {
    const timespec at_once = {0, 0};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSigpipe(const HeldSigpipe&) = delete;
  HeldSigpipe& operator=(const HeldSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// The child starts with the usual signal settings, whatever ours are, in the group `group`, or as the head of
// one of its own when that is 0.
int spawn_shell(const std::string& command, int in, int out, int err, int group, int* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, group);
  sigset_t defaults;
  sigset_t none;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string shell = "sh";
  std::string flag = "-c";
  std::string line = command;
  char* arguments[] = {shell.data(), flag.data(), line.data(), nullptr};
  const int code = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return code;
}

// Waits until its standard input ends, which it does when this process is gone, however it went, and then
// kills the group that it is the head of. The death signal of prctl() would not do: a shell does not hand it
// on to what it starts, and it also comes when only the thread that started the child has ended.
constexpr const char* kGuardian = "trap '' HUP INT QUIT TERM; read -r line; kill -9 0";

void wait_for(int pid, int* status) {
  while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string ProcessEnd::text() const {
  if (running) return "still running";
  if (signal == 0) return "exit status " + std::to_string(status);
  const char* name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) + (name ? std::string(" (") + name + ")" : "");
}

Process::Process(const std::string& command, TextSink errors) : sink_(std::move(errors)) {
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe life;
  int code = 0;
  {
    const Pipe nothing;  // the guardian says nothing, and holds no descriptor that someone waits on
    code = spawn_shell(kGuardian, life.read, nothing.write, nothing.write, 0, &guardian_);
  }
  // First the guardian, so that there is no moment in which the child would outlive us: where guardian and
  // group are gone already, it cannot be started.
  if (code == 0) code = spawn_shell(command, in.read, out.write, err.write, guardian_, &pid_);
  if (code != 0) {
    if (guardian_ > 0) {
      kill(guardian_, SIGKILL);
      wait_for(guardian_, nullptr);
    }
    throw Error(ErrorKind::kWorker, std::string("the worker cannot be started: ") + std::strerror(code));
  }
  life_ = life.take(&Pipe::write);
  to_child_ = in.take(&Pipe::write);
  from_child_ = out.take(&Pipe::read);
  errors_fd_ = err.take(&Pipe::read);
  for (int fd : {to_child_, from_child_, errors_fd_}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Process::~Process() {
  sink_ = {};
  end();
  close_fd(from_child_);
  close_fd(errors_fd_);
}

void Process::drain_errors() {
  char chunk[4096];
  while (errors_fd_ >= 0) {
    const ssize_t n = ::read(errors_fd_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) close_fd(errors_fd_);
    if (n <= 0) return;
    const std::string_view text(chunk, static_cast<std::size_t>(n));
    errors_ += text;
    if (errors_.size() > kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
    if (sink_) sink_(text);
  }
}

bool Process::write_line(const std::string& line, Clock::time_point deadline) {
  const HeldSigpipe held;
  const std::string text = line + "\n";
  std::size_t done = 0;
  while (to_child_ >= 0 && done < text.size()) {
    const ssize_t n = ::write(to_child_, text.data() + done, text.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    // A child that is stuck on a full standard error does not read either.
    std::array<pollfd, 2> fds = {{{to_child_, POLLOUT, 0}, {errors_fd_, POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), milliseconds_until(deadline)) == 0) return false;
    drain_errors();
  }
  return done == text.size();
}

Process::Outcome Process::read_line(std::string* line, Clock::time_point deadline) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      line->assign(buffer_, 0, end);
      buffer_.erase(0, end + 1);
      scanned_ = 0;
      return Outcome::kLine;
    }
    scanned_ = buffer_.size();
    if (buffer_.size() > kMaxLine) return Outcome::kTooLong;
    std::array<pollfd, 2> fds = {{{from_child_, POLLIN, 0}, {errors_fd_, POLLIN, 0}}};
    const int ready = poll(fds.data(), fds.size(), milliseconds_until(deadline));
    if (ready == 0) return Outcome::kLate;
    if (ready < 0 && errno != EINTR) return Outcome::kEnd;
    drain_errors();
    char chunk[65536];
    const ssize_t n = ::read(from_child_, chunk, sizeof chunk);
    if (n > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Outcome::kEnd;
    } else if (Clock::now() >= deadline) {
      return Outcome::kLate;  // a child that only chatters on standard error
    }
  }
}

bool Process::has_ended() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid_;
}

ProcessEnd Process::end(Clock::duration grace) {
  if (end_) return *end_;
  close_fd(to_child_);
  const auto deadline = Clock::now() + grace;
  while (!has_ended() && Clock::now() < deadline) {
    drain_errors();
    std::this_thread::sleep_for(kPollForEnd);
  }
  ProcessEnd result;
  result.running = !has_ended();
  drain_errors();
  // The guardian is not reaped yet, so the number of the group cannot have been given to anyone else.
  // Killed also when the child itself has ended: what it started may live on.
  kill(-guardian_, SIGKILL);
  int status = 0;
  wait_for(pid_, &status);
  wait_for(guardian_, nullptr);
  close_fd(life_);
  drain_errors();
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.status = WEXITSTATUS(status);
    if (result.status > 128 && result.status < 128 + 65) result.signal = result.status - 128;
  }
  end_ = result;
  return result;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace ampere
