#include "serve/cores.h"

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"

namespace ampere {
namespace {

std::optional<int> number_in(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

void move_to(pid_t thread, const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  sched_setaffinity(thread, sizeof set, &set);  // one that has ended meanwhile needs none
}

// Its threads, and then the processes that each of them started.
void move_family(pid_t process, const std::vector<int>& cores) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  std::error_code gone;
  for (std::filesystem::directory_iterator task(tasks, gone), end; !gone && task != end;
       task.increment(gone)) {
    if (const auto thread = number_in(task->path().filename().string())) move_to(*thread, cores);
  }
  gone.clear();
  for (std::filesystem::directory_iterator task(tasks, gone), end; !gone && task != end;
       task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) move_family(child, cores);
  }
}

}  // namespace

std::vector<int> cores_in(const std::string& list, const std::vector<int>& allowed) {
  std::set<int> found;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    const std::string_view part = std::string_view(list).substr(start, end - start);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = number_in(part.substr(0, dash));
    const auto last = dash == part.size() ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *last < *first)
      throw bad_input("cores are given by their numbers, such as 0 or 0-3,6; found \"" + list + "\"");
    for (int core = *first; core <= *last; ++core) {
      if (std::find(allowed.begin(), allowed.end(), core) == allowed.end())
        throw bad_input("core " + std::to_string(core) + " is none that this process may run on");
      found.insert(core);
    }
    start = end + 1;
  }
  return {found.begin(), found.end()};
}

std::vector<int> cores_to_answer(const std::vector<int>& allowed, int threads) {
  const int all = static_cast<int>(allowed.size());
  const int count = std::min(all / 2, all - threads);
  if (count < 1) return {};
  return {allowed.begin(), allowed.begin() + count};
}

void keep_to(const std::vector<int>& cores) {
  if (!cores.empty()) move_family(getpid(), cores);
}

void run_on(const std::vector<int>& cores) {
  if (!cores.empty()) move_to(0, cores);
}

}  // namespace ampere
