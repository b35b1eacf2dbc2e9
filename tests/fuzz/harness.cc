#include "harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

// What the sanitizers do unless ASAN_OPTIONS says otherwise: memory is bounded, so that an input of a few
// bytes that asks for gigabytes is found.
extern "C" const char* __asan_default_options() {
  return "exitcode=99:detect_leaks=1:max_allocation_size_mb=1024:hard_rss_limit_mb=3072";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

namespace ampere::fuzz {
namespace {

constexpr int kWorkSeconds = 5;   // of the processor, in one run
constexpr int kWallSeconds = 60;  // for waiting as well; other programs may keep the machine busy
constexpr int kMostFailures = 20;

// What the runs' process tells the one that watches it.
struct Progress {
  std::size_t run;  // the one at work
  std::size_t done, accepted, refused, failures;
  double longest_s;
  std::size_t longest_run;
  bool through;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void set_alarm(int work_s, int wall_s) {
  itimerval timer{};
  timer.it_value.tv_sec = work_s;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(static_cast<unsigned>(wall_s));
}

class Runs {
 public:
  Runs(const Fuzzer& fuzzer, std::uint64_t seed, std::size_t runs, std::vector<std::string> inputs)
      : fuzzer_(fuzzer),
        seed_(seed),
        runs_(runs),
        inputs_(std::move(inputs)),
        current_(scratch_path("fuzz-" + fuzzer.kind)) {
    void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) std::abort();
    progress_ = new (shared) Progress{};
  }

  int all() {
    // A process for as many runs as go well; after a crash, another one goes on behind it.
    for (std::size_t next = 0; next < total() && progress_->failures < kMostFailures;) {
      progress_->through = false;
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        go_on(next);
        std::exit(0);  // leaks are looked for here
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
      if (progress_->through) {
        failed("leaks, or failed to end", "");
        break;
      }
      failed(end_text(status), read_bytes(current_));
      next = progress_->run + 1;
    }
    std::error_code ignored;
    std::filesystem::remove(current_, ignored);
    std::printf(
        "%s: seed %llu, %zu runs, %zu accepted, %zu refused, %zu failures, longest %.3f s (run %zu)\n",
        fuzzer_.kind.c_str(), static_cast<unsigned long long>(seed_), progress_->done, progress_->accepted,
        progress_->refused, progress_->failures, progress_->longest_s, progress_->longest_run);
    return progress_->failures == 0 ? 0 : 1;
  }

 private:
  std::size_t total() const { return inputs_.size() + runs_; }

  static std::string end_text(int status) {
    if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF || signal == SIGALRM) return "more than 5 s";
    return "signal " + std::to_string(signal);
  }

  void go_on(std::size_t first) {
    for (std::size_t run = first; run < total() && progress_->failures < kMostFailures; ++run) {
      Random random(seed_, run - inputs_.size());
      const std::string input = run < inputs_.size() ? read_bytes(inputs_[run]) : fuzzer_.make(random);
      write_bytes(current_, input);
      progress_->run = run;
      ++progress_->done;
      set_alarm(kWorkSeconds, kWallSeconds);
      const double before = processor_seconds();
      one(input);
      const double seconds = processor_seconds() - before;
      set_alarm(0, 0);
      if (seconds <= progress_->longest_s) continue;
      progress_->longest_s = seconds;
      progress_->longest_run = run;
    }
    progress_->through = true;
  }

  void one(const std::string& input) {
    try {
      bool accepted = false;
      const bool taken = takes([&] { accepted = fuzzer_.run(input); });
      ++(taken && accepted ? progress_->accepted : progress_->refused);
    } catch (const Wrong& wrong) {
      failed(wrong.what, input);
    } catch (const std::exception& e) {
      failed(std::string("an exception that is no Error: ") + e.what(), input);
    }
  }

  void failed(const std::string& what, const std::string& input) {
    ++progress_->failures;
    const std::string kept =
        (std::filesystem::temp_directory_path() /
         ("ampere-fuzz-" + fuzzer_.kind + "-" + std::to_string(seed_) + "-" + std::to_string(progress_->run)))
            .string();
    write_bytes(kept, input);
    std::fprintf(stderr, "%s: seed %llu, run %zu: %s; its input is kept in %s\n", fuzzer_.kind.c_str(),
                 static_cast<unsigned long long>(seed_), progress_->run, what.c_str(), kept.c_str());
  }

  const Fuzzer& fuzzer_;
  std::uint64_t seed_;
  std::size_t runs_;
  std::vector<std::string> inputs_;
  std::string current_;
  Progress* progress_;
};

}  // namespace

std::uint64_t Random::next() {  // splitmix64
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool takes(const std::function<void()>& f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.empty()) throw Wrong{"an Error that says nothing"};
    for (const char* raw : {"json.exception", "nlohmann", "std::", "basic_string", "what()",
                            "vector::", "map::", "bad_alloc", "_M_"}) {
      if (message.find(raw) != std::string::npos) throw Wrong{"the text of an exception: " + message};
    }
    return false;
  }
}

int fuzz_main(int argc, char** argv, const Fuzzer& fuzzer) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SEED RUNS [INPUT...]\n", argv[0]);
    return 2;
  }
  for (std::size_t i = 0; i < fuzzer.seeds.size(); ++i) {
    bool accepted = false;
    if (takes([&] { accepted = fuzzer.run(fuzzer.seeds[i]); }) && accepted) continue;
    std::fprintf(stderr, "%s: seed input %zu is refused: %.300s\n", fuzzer.kind.c_str(), i,
                 fuzzer.seeds[i].c_str());
    return 1;
  }
  return Runs(fuzzer, std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
              {argv + 3, argv + argc})
      .all();
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> test_data(const std::string& folder, const std::string& ending,
                                   std::size_t longest) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(AMPERE_TEST_DATA) + "/" + folder)) {
    if (entry.path().extension() == ending && entry.file_size() <= longest) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> found;
  for (const auto& path : paths) found.push_back(read_bytes(path.string()));
  return found;
}

std::string scratch_path(const std::string& name) {
  const std::string folder =
      access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
  return folder + "/ampere-" + name + "-" + std::to_string(getpid());
}

}  // namespace ampere::fuzz
