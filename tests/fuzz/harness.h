// What the fuzzers share: inputs made from seeds, each tried in a bounded run, and what came of it.
//
//   tests/fuzz_jobs SEED RUNS [INPUT...]     # INPUT: files that failed once, tried first; 7 0 FILE tries
//   FILE alone
//
// Input number n depends on SEED and n alone. It may be accepted or refused with an Error in our own words;
// a crash, a report of the sanitizers, another exception, the text of one in a message, and more than 5 s of
// work are failures, whose inputs are kept. Prints one line; the exit status is 1 when anything failed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ampere::fuzz {

// The same numbers everywhere, unlike those of <random>'s distributions.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t run)
      : state_(seed * 0x9e3779b97f4a7c15u + run * 0xd1342543de82ef95u) {}
  std::uint64_t next();
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  const auto& of(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

 private:
  std::uint64_t state_;
};

// Something is wrong that is no crash: an answer that cannot be, the text of a raw exception.
struct Wrong {
  std::string what;
};

struct Fuzzer {
  std::string kind;                // "jobs"
  std::vector<std::string> seeds;  // each must be accepted, or nothing worth the name is tried
  std::function<std::string(Random&)> make;
  // True: accepted. May throw Error, which is a refusal; see takes().
  std::function<bool(const std::string& input)> run;
};

// True when `f` accepts, false when it throws an Error. Throws Wrong when its message is not in our own
// words.
bool takes(const std::function<void()>& f);

int fuzz_main(int argc, char** argv, const Fuzzer& fuzzer);

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);
// Files of a folder below tests/data ("onnx") that end so and are no longer than that, in the order of their
// names.
std::vector<std::string> test_data(const std::string& folder, const std::string& ending, std::size_t longest);
// A file of this run's own, in memory where the machine has such a folder.
std::string scratch_path(const std::string& name);

}  // namespace ampere::fuzz
