// Verbs of ampere in processes of their own, for requests that may take long or much.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "serve/options.h"

namespace ampere {

// Runs `ampere WORDS...`, which must print JSON, within the limits of the options, and returns that. What is
// told of its errors has each of `names` in place of a path. Throws Error of the kind and in the words that
// the program fails with, HttpError where it is over a limit. Where it prints JSON and fails all the same
// (a plan that refuses jobs), that is its answer.
Json run_limited(const std::vector<std::string>& words, const ServeOptions& options,
                 const std::vector<std::pair<std::string, std::string>>& names = {});

// What a program's standard error says went wrong, without "ampere: ".
std::string told_error(const std::string& errors);
ErrorKind kind_of_exit(int status);

}  // namespace ampere
