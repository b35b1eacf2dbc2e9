#include "control/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "meter/sysfs.h"

namespace ampere {
namespace {

// A driver that is busy may refuse for a moment.
constexpr int kMostTries = 5;
constexpr std::chrono::milliseconds kBetweenTries(100);
constexpr off_t kMostBytes = 1 << 20;  // of what was left behind; no machine has as many devices

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// All that arrives until the other end is closed; `on_line` gets each line without its end.
template <class OnLine>
void read_lines(int file, const OnLine& on_line) {
  std::string rest;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    rest.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      on_line(rest.substr(0, end));
      rest.erase(0, end + 1);
    }
  }
}

// One file for all that can be changed here, held by us and by the guardian until all is put back. While
// something is changed it holds what undoes it, for the next ampere in case both are killed. -1 where no such
// file can be made.
std::string settings_lock() {
  const char* library = std::getenv("AMPERE_NVML_LIBRARY");
  // All that root does is in one place, whatever its environment says: sudo changes that.
  const char* folder = geteuid() == 0 ? "/run/lock" : std::getenv("XDG_RUNTIME_DIR");
  const bool is_there = folder != nullptr && *folder != '\0' && access(folder, W_OK) == 0;
  return std::string(is_there ? folder : "/tmp") + "/ampere-settings-" +
         hex_digest(sysfs_root().string() + "\n" + (library != nullptr ? library : "")) + ".lock";
}

int lock_settings() {
  const std::string path = settings_lock();
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0 && (errno == EACCES || errno == EPERM || errno == ELOOP))
    throw bad_input(path + ": " + std::strerror(errno) +
                    "; somebody else has changed settings of this machine, or left that file behind");
  if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    throw bad_input(
        "another ampere has changed settings of this machine and will put them back when it ends; " + path +
        " tells; wait for it");
  }
  return file;
}

// What an ampere left behind that was killed together with its guardian. What another user wrote is not
// believed: the folder may be everybody's.
std::vector<Undo> written_in(int lock) {
  struct stat file {};
  if (lock < 0 || fstat(lock, &file) != 0 || file.st_uid != geteuid() || file.st_size > kMostBytes) return {};
  std::vector<Undo> undos;
  read_lines(lock, [&](const std::string& line) {
    try {
      const Undo undo = Undo::from_line(line);
      // Of several changes of one thing the first tells what it was.
      const bool known = std::any_of(undos.begin(), undos.end(), [&](const Undo& other) {
        return other.kind == undo.kind && other.target == undo.target;
      });
      if (!known) undos.push_back(undo);
    } catch (const std::exception&) {
      // Killed while it was written: what it is about was not changed yet.
    }
  });
  return undos;
}

// For the next ampere, what is still to be put back. Nothing mostly.
void write_down(int lock, const std::vector<Undo>& still_changed) {
  if (lock < 0 || ftruncate(lock, 0) != 0) return;  // the next one puts all of it back once more
  for (const Undo& undo : still_changed) write_all(lock, undo.line() + "\n");
}

[[noreturn]] void guard(int from_parent, int to_parent, int lock) {
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  // What reads the program's output must not wait for us.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {0, 1, 2}) dup2(nowhere, file);
  std::vector<Undo> undos;
  std::shared_ptr<const Nvml> nvml;
  read_lines(from_parent, [&](const std::string& line) {
    try {
      undos.push_back(Undo::from_line(line));
      if (lock >= 0) write_all(lock, line + "\n");
      // Loading takes a while on some machines: better now than when it is needed.
      if (!nvml && undos.back().kind != Undo::Kind::kSysfs) nvml = load_nvml();
    } catch (const std::exception&) {
      // What cannot be loaded now is tried again, and told, when it is needed.
    }
    write_all(to_parent, "\n");  // heard
  });
  std::string failures;
  try {
    std::vector<Undo> still_changed;
    for (const std::string& failure : put_all_back(undos, nvml, still_changed)) failures += failure + "\n";
    write_down(lock, still_changed);
  } catch (const std::exception& e) {
    failures += std::string(e.what()) + "\n";
  }
  write_all(to_parent, failures);
  _exit(failures.empty() ? 0 : 1);
}

}  // namespace

std::vector<std::string> put_all_back(const std::vector<Undo>& undos, std::shared_ptr<const Nvml>& nvml,
                                      std::vector<Undo>& still_changed) {
  std::vector<std::string> failures;
  for (auto undo = undos.rbegin(); undo != undos.rend(); ++undo) {
    for (int tries = 1;; ++tries) {
      try {
        put_back(*undo, nvml);
        break;
      } catch (const NotPermitted& e) {
        failures.emplace_back(e.what());
        break;
      } catch (const std::exception& e) {
        if (tries == kMostTries) {
          failures.emplace_back(e.what());
          still_changed.insert(still_changed.begin(), *undo);
          break;
        }
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  return failures;
}

Guardian::Guardian() {
  const std::vector<Undo> left = begin();
  if (left.empty()) return;
  // As everything is put back: this guardian is told and ended, and another takes its place.
  for (const Undo& undo : left) {
    promise(undo);
    left_behind_.push_back(undo.command());
  }
  const std::vector<std::string> failures = end();
  if (!failures.empty())
    throw Error(ErrorKind::kFailed,
                "an ampere that was killed has left settings behind that cannot be put back: " +
                    failures.front() + "; put them back, then remove " + settings_lock());
  promised_.clear();
  begin();
}

std::vector<Undo> Guardian::begin() {
  lock_ = lock_settings();
  std::vector<Undo> left = written_in(lock_);
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
    throw Error(ErrorKind::kFailed, std::string("no pipe can be made: ") + std::strerror(errno));
  pid_ = fork();
  if (pid_ == 0) {
    close(down[1]);
    close(up[0]);
    guard(down[0], up[1], lock_);
  }
  const int error = errno;
  close(down[0]);
  close(up[1]);
  to_guardian_ = down[1];
  from_guardian_ = up[0];
  if (pid_ < 0) {
    close(to_guardian_);
    close(from_guardian_);
    release();
    throw Error(ErrorKind::kFailed, std::string("no process can be started: ") + std::strerror(error));
  }
  return left;
}

void Guardian::release() {
  if (lock_ >= 0) close(lock_);
  lock_ = -1;
}

Guardian::~Guardian() {
  try {
    end();
  } catch (const std::exception&) {
    // A destructor has nobody to tell.
  }
}

void Guardian::promise(const Undo& undo) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  char heard = 0;
  bool ok = to_guardian_ >= 0 && write_all(to_guardian_, undo.line() + "\n");
  while (ok) {
    const ssize_t n = read(from_guardian_, &heard, 1);
    if (n < 0 && errno == EINTR) continue;
    ok = n == 1;
    break;
  }
  sigaction(SIGPIPE, &before, nullptr);
  if (!ok)
    throw Error(ErrorKind::kFailed,
                "the process that would put settings back is gone, so nothing is changed; run it again");
  promised_.push_back(undo);
}

std::vector<std::string> Guardian::end() {
  if (pid_ < 0) return {};
  close(to_guardian_);
  std::vector<std::string> failures;
  read_lines(from_guardian_, [&](const std::string& line) { failures.push_back(line); });
  close(from_guardian_);
  to_guardian_ = from_guardian_ = -1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!WIFEXITED(status)) {  // somebody has killed the guardian
    std::shared_ptr<const Nvml> nvml;
    std::vector<Undo> still_changed;
    failures = put_all_back(promised_, nvml, still_changed);
    write_down(lock_, still_changed);
  }
  release();
  return failures;
}

}  // namespace ampere
