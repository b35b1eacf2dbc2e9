// Which of the machine's cores answer, so that what is measured beside has others to itself.
#pragma once

#include <string>
#include <vector>

namespace ampere {

// "0", "0-3,6" -> the cores' numbers, in order. Throws Error{kBadInput} where it is no such list, or names a
// core that this process may not run on.
std::vector<int> cores_in(const std::string& list, const std::vector<int>& allowed);

// Those that answers keep to while something is measured with so many threads: half of the allowed ones,
// fewer where it needs more than the other half. Empty where none can be spared.
std::vector<int> cores_to_answer(const std::vector<int>& allowed, int threads);

// Moves all threads of this process and of those that it started to these cores; what they start later begins
// there. Does nothing for none.
void keep_to(const std::vector<int>& cores);

// The calling process alone; safe between fork and exec.
void run_on(const std::vector<int>& cores);

}  // namespace ampere
