#include "import/unsupported.h"

#include <algorithm>

#include "base/error.h"

namespace ampere {
namespace {

constexpr std::size_t kMostTold = 100;  // different things that are not supported
constexpr std::size_t kPlacesTold = 3;  // of one op

}  // namespace

void add_unsupported(std::vector<UnsupportedOp>& list, const std::string& op, const std::string& why,
                     const std::string& place) {
  auto it = std::find_if(list.begin(), list.end(),
                         [&](const UnsupportedOp& u) { return u.op == op && u.why == why; });
  if (it == list.end() && list.size() >= kMostTold) it = list.end() - 1;
  if (it == list.end()) it = list.insert(list.end(), {op, why, {}});
  it->nodes.push_back(place);
}

void refuse(const std::vector<UnsupportedOp>& list, const std::string& where) {
  if (list.empty()) return;
  std::string text;
  for (const UnsupportedOp& u : list) {
    text += "\n  " + u.op + (u.why.empty() ? "" : " (" + u.why + ")") + ", " +
            std::to_string(u.nodes.size()) + (u.nodes.size() == 1 ? " time: " : " times: ");
    for (std::size_t i = 0; i < u.nodes.size() && i < kPlacesTold; ++i) text += (i ? ", " : "") + u.nodes[i];
    if (u.nodes.size() > kPlacesTold) text += ", ...";
  }
  throw bad_input(where + ": these ops are not supported; --ignore-unsupported goes on without them:" + text);
}

}  // namespace ampere
