#include "serve/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "serve/cores.h"

namespace ampere {
namespace {

using ChildClock = std::chrono::steady_clock;

void limit_resource(int what, rlim_t most) {
  const rlimit limit{most, most};
  setrlimit(static_cast<__rlimit_resource_t>(what), &limit);
}

struct ChildPipe {
  int read = -1, write = -1;
  ChildPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw Error(ErrorKind::kFailed, "no pipe can be made: too many files are open");
    read = ends[0];
    write = ends[1];
  }
  ~ChildPipe() {
    close_write();
    if (read >= 0) close(read);
  }
  ChildPipe(const ChildPipe&) = delete;
  ChildPipe& operator=(const ChildPipe&) = delete;
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

// In the child, between fork and exec: what is safe there alone.
[[noreturn]] void become(char* const* arguments, const ChildOptions& o, int output, int errors,
                         pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it is gone already
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(errors, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int s : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) signal(s, SIG_DFL);
  run_on(o.cores);
  limit_resource(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__)  // which maps terabytes
  if (o.most_bytes > 0) limit_resource(RLIMIT_AS, o.most_bytes);
#endif
  if (o.most_s > 0) limit_resource(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(o.most_s)) + 1);
  if (o.most_file_bytes > 0) limit_resource(RLIMIT_FSIZE, o.most_file_bytes);
  execv(arguments[0], arguments);
  _exit(127);
}

// What a pipe has; false where it has ended.
bool drain(int fd, std::string& into) {
  char buffer[1 << 16];
  const ssize_t n = read(fd, buffer, sizeof buffer);
  if (n > 0) into.append(buffer, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

// Whole lines go to who wants them; what is kept is the end.
void tell_lines(std::string& pending, ChildEnd& end, const ChildOptions& o) {
  constexpr std::size_t kKept = 16 << 10;
  std::size_t at;
  while ((at = pending.find('\n')) != std::string::npos || pending.size() > kKept) {
    const std::string line = pending.substr(0, at);
    pending.erase(0, at == std::string::npos ? at : at + 1);
    if (o.on_line) o.on_line(line);
    end.errors += line + "\n";
  }
  if (end.errors.size() > kKept) end.errors.erase(0, end.errors.size() - kKept);
}

// Until both pipes have ended, or it has to be ended.
void listen_to(pid_t pid, int output, int errors, const ChildOptions& o, ChildEnd& end) {
  const auto start = ChildClock::now();
  const auto since = [&] { return std::chrono::duration<double>(ChildClock::now() - start).count(); };
  std::string pending;
  double asked_to_end_s = -1;
  pollfd open[2] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    poll(open, 2, 100);
    if (open[0].fd >= 0 && open[0].revents != 0 && !drain(output, end.output)) open[0].fd = -1;
    if (open[1].fd >= 0 && open[1].revents != 0 && !drain(errors, pending)) open[1].fd = -1;
    tell_lines(pending, end, o);
    end.late = o.most_s > 0 && since() > o.most_s;
    end.too_much = end.output.size() > o.most_output;
    if (o.stop && asked_to_end_s < 0 && o.stop()) {
      end.stopped = true;
      asked_to_end_s = since();
      kill(pid, SIGTERM);
    }
    constexpr double kGraceS = 5;
    if (end.late || end.too_much || (asked_to_end_s >= 0 && since() > asked_to_end_s + kGraceS)) {
      kill(-pid, SIGKILL);
      break;
    }
  }
  pending += pending.empty() ? "" : "\n";
  tell_lines(pending, end, o);
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command, const ChildOptions& options) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ChildPipe output, errors;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(ErrorKind::kFailed, std::string("no process can be started: ") + std::strerror(errno));
  if (pid == 0) become(arguments.data(), options, output.write, errors.write, parent);
  setpgid(pid, pid);  // the child does it, too; whoever comes first
  output.close_write();
  errors.close_write();
  ChildEnd end;
  listen_to(pid, output.read, errors.read, options, end);
  int status = 0;
  // Somebody of its group may hold the pipes' other ends: then it has ended, and they go with it.
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-pid, SIGKILL);
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return end;
}

}  // namespace ampere
