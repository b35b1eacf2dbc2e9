#include "worker/host.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/error.h"

// Present only when jemalloc replaces malloc.
extern "C" __attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*, std::size_t);

namespace ampere::worker {
namespace {

constexpr int kThreadsPerCore = 4;  // more only wait for each other; as in python/ampere/worker/recipe.py

// The value after "key:" or "key" in a file of such lines.
std::optional<std::string> line_after(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t at = line.find_first_not_of(" \t:", key.size());
    if (at != std::string::npos) return line.substr(at);
  }
  return std::nullopt;
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream in(path);
  double value = 0;
  if (in >> value) return value;  // "max" and missing files are no numbers
  return std::nullopt;
}

std::optional<std::int64_t> meminfo(const char* key) {
  if (auto kib = line_after("/proc/meminfo", key)) return std::atoll(kib->c_str()) * 1024;
  return std::nullopt;
}

// Follows symbolic links: the generic name says little.
std::string real_path(const std::string& path) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? path : real.string();
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string cpu_name() {
  for (const char* key : {"model name", "Model", "Hardware"}) {  // x86, some ARM boards, older ARM
    if (auto name = line_after("/proc/cpuinfo", key)) return *name;
  }
  return "cpu";
}

std::int64_t host_memory() {
  std::int64_t bytes = meminfo("MemTotal").value_or(std::int64_t{1} << 40);
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (auto value = number_in(limit); value && *value < static_cast<double>(bytes)) {
      bytes = static_cast<std::int64_t>(*value);
    }
  }
  return bytes;
}

std::int64_t host_free_memory() {
  const std::int64_t total = host_memory();
  std::int64_t bytes = std::min(total, meminfo("MemAvailable").value_or(total));
  for (const char* used : {"/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}) {
    if (auto value = number_in(used)) bytes = std::min(bytes, total - static_cast<std::int64_t>(*value));
  }
  return std::max<std::int64_t>(bytes, 0);
}

std::string loaded_blas() {
  // A library that describes itself is better than its file name, which may be a generic one.
  if (void* config = dlsym(RTLD_DEFAULT, "openblas_get_config")) {
    Dl_info where{};
    const bool known = dladdr(config, &where) != 0 && where.dli_fname != nullptr;
    const char* text = reinterpret_cast<const char* (*)()>(config)();
    return std::string(text) + (known ? " (" + real_path(where.dli_fname) + ")" : "");
  }
  std::string found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::string path = line.substr(at);
    const std::string name = file_name(path);
    const bool matrix = name.rfind("libblas", 0) == 0 || name.rfind("libopenblas", 0) == 0 ||
                        name.rfind("libmkl", 0) == 0 || name.rfind("libblis", 0) == 0 ||
                        name.rfind("libatlas", 0) == 0;
    if (matrix && found.find(path) == std::string::npos) found += (found.empty() ? "" : ", ") + path;
  }
  return found.empty() ? "built into the framework" : found;
}

std::string loaded_allocator() { return mallctl != nullptr ? "jemalloc" : "glibc"; }

void trim_allocator() {
  if (mallctl != nullptr) {
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096 stands for all arenas
  } else {
    malloc_trim(0);
  }
}

void check_threads(int threads) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (threads > kThreadsPerCore * cores) {
    throw bad_input("recipe: " + std::to_string(threads) + " threads are too many for this machine's " +
                    std::to_string(cores) + " cores; " + std::to_string(kThreadsPerCore * cores) +
                    " is the most");
  }
}

CpuSeconds cpu_seconds() {
  auto read = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  return {read(CLOCK_PROCESS_CPUTIME_ID), read(CLOCK_THREAD_CPUTIME_ID)};
}

}  // namespace ampere::worker
