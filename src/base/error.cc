#include "base/error.h"

#include <array>
#include <utility>

namespace ampere {
namespace {

struct KindRow {
  ErrorKind kind;
  const char* word;
  int exit_code;
};

constexpr std::array<KindRow, 9> kKinds = {{
    {ErrorKind::kFailed, "failed", 1},
    {ErrorKind::kBadInput, "bad_input", 2},
    {ErrorKind::kNoMeter, "no_meter", 3},
    {ErrorKind::kOverBudget, "over_budget", 4},
    {ErrorKind::kUnstable, "unstable", 5},
    {ErrorKind::kNotProfiled, "not_profiled", 6},
    {ErrorKind::kWorker, "worker", 1},
    {ErrorKind::kOutOfMemory, "out_of_memory", 1},
    {ErrorKind::kForwardFailed, "forward_failed", 2},
}};

const KindRow& row(ErrorKind kind) {
  for (const KindRow& r : kKinds) {
    if (r.kind == kind) return r;
  }
  return kKinds[0];
}

}  // namespace

int exit_code(ErrorKind kind) { return row(kind).exit_code; }

const char* to_word(ErrorKind kind) { return row(kind).word; }

ErrorKind error_kind_from_word(const std::string& word) {
  for (const KindRow& r : kKinds) {
    if (word == r.word) return r.kind;
  }
  return ErrorKind::kFailed;
}

}  // namespace ampere
