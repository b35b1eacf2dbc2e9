// What `ampere tune --settings` names.
#pragma once

#include <string>
#include <vector>

#include "ampere/tune.h"

namespace ampere {

// "precision=bf16,default", "optimizer=sgd,adam", "limit=300,400", "batch=32,64", "clock=1300",
// "threads=1,2", "autotune=on,off", into the lists of the options. Throws Error{kBadInput} that says what is
// known; also for what only captured steps have (fp16 with scaling, channels last), with where that is told.
void read_settings(const std::vector<std::string>& given, TuneOptions& options);

// "2.10/h", "$2/h"; 0 for an empty text. Throws Error{kBadInput}.
double price_per_hour(const std::string& text);

}  // namespace ampere
