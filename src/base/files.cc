#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace ampere {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // False: what was written may not be there.
  bool closed() {
    const int fd = fd_;
    fd_ = -1;
    return close(fd) == 0;
  }

 private:
  int fd_;
};

// Whose names stand for what is open already: a new file in their place would not be seen by anyone.
bool is_special(const fs::path& path) {
  const std::string text = path.string();
  return text.rfind("/dev/", 0) == 0 || text.rfind("/proc/", 0) == 0;
}

// The path behind all links; absent where it must be written as it is.
std::optional<fs::path> replaceable(const std::string& path) {
  fs::path target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code failed;
    if (is_special(fs::absolute(target, failed).lexically_normal()) || failed) return std::nullopt;
    struct stat known {};
    if (lstat(target.c_str(), &known) != 0) return errno == ENOENT ? std::optional(target) : std::nullopt;
    if (S_ISREG(known.st_mode)) return target;
    if (!S_ISLNK(known.st_mode)) return std::nullopt;
    const fs::path next = fs::read_symlink(target, failed);
    if (failed) return std::nullopt;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return std::nullopt;
}

// False with errno set.
bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Measurements are never written over: a store has SQLite's mark at its beginning and ours at byte 68.
void refuse_store(const std::string& path) {
  std::error_code unknown;
  std::FILE* file = fs::is_regular_file(path, unknown) ? std::fopen(path.c_str(), "rb") : nullptr;
  if (!file) return;
  char head[72] = {};
  const bool whole = std::fread(head, 1, sizeof head, file) == sizeof head;
  std::fclose(file);
  if (whole && std::memcmp(head, "SQLite format 3", 16) == 0 && std::memcmp(head + 68, "AMPR", 4) == 0)
    throw bad_input(path + ": a store of measurements, which is not written over; name another file");
}

[[noreturn]] void cannot_write(const std::string& path, const std::string& more = "") {
  throw Error(ErrorKind::kFailed, path + ": cannot be written (" + std::strerror(errno) + ")" + more);
}

void write_as_it_is(const std::string& path, const std::string& text) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0 || !write_all(file.get(), text) || !file.closed()) cannot_write(path);
}

// A new file in that folder, and its name.
int made_aside(const fs::path& folder, std::string& name) {
  static std::atomic<unsigned> count{0};
  int fd = -1;
  do {
    name =
        (folder / (".ampere-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".tmp")).string();
    fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

bool is_refusal(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == EBUSY || error == EXDEV;
}

// A file that lies beside its place, and is removed unless it gets there.
class Aside {
 public:
  Aside(int fd, std::string name) : file_(fd), name_(std::move(name)) {}
  ~Aside() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // All false with errno set.
  bool write(const std::string& text) {
    if (!write_all(file_.get(), text)) return false;
    // Some file systems know no such thing.
    if (fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOTSUP) return false;
    return file_.closed();
  }
  void take_permissions(const struct stat& from) {
    // Only root may give a file away; then it stays ours.
    if (fchown(file_.get(), from.st_uid, from.st_gid) != 0) errno = 0;
    if (fchmod(file_.get(), from.st_mode & 07777) != 0) errno = 0;
  }
  bool put(const fs::path& place) {
    if (std::rename(name_.c_str(), place.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  Descriptor file_;
  std::string name_;
};

}  // namespace

void require_writable(const std::string& path) {
  refuse_store(path);
  const auto refuse = [&](int error) {
    throw bad_input(path + ": cannot be written (" + std::strerror(error) +
                    "); check the folder of --output");
  };
  struct stat known {};
  if (stat(path.c_str(), &known) == 0) {
    if (S_ISDIR(known.st_mode)) refuse(EISDIR);
    if (access(path.c_str(), W_OK) != 0) refuse(errno);
    return;
  }
  if (errno != ENOENT || path.empty() || path.back() == '/') refuse(path.empty() ? ENOENT : errno);
  // It is to be made, perhaps where a link points to.
  const fs::path folder = replaceable(path).value_or(path).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  if (stat(name.c_str(), &known) != 0) refuse(errno);
  if (!S_ISDIR(known.st_mode)) refuse(ENOTDIR);
  if (access(name.c_str(), W_OK | X_OK) != 0) refuse(errno);
}

void write_file(const std::string& path, const std::string& text) {
  refuse_store(path);
  const std::optional<fs::path> place = replaceable(path);
  if (!place) return write_as_it_is(path, text);
  struct stat known {};
  const bool old = stat(place->c_str(), &known) == 0;
  // Who may not change a file may not replace it either.
  if (old && access(place->c_str(), W_OK) != 0) cannot_write(path);
  std::string name;
  const int fd = made_aside(place->parent_path(), name);
  if (fd < 0 && is_refusal(errno)) return write_as_it_is(path, text);
  if (fd < 0) cannot_write(path);
  Aside aside(fd, name);
  if (old) aside.take_permissions(known);
  if (!aside.write(text)) cannot_write(path, old ? "; what was there before is kept" : "");
  if (aside.put(*place)) return;
  if (!is_refusal(errno)) cannot_write(path);
  write_as_it_is(path, text);
}

}  // namespace ampere
