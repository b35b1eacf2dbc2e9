// What only we need of errors; the exception itself is public.
#pragma once

#include <string>

#include "ampere/error.h"

namespace ampere {

// Short for the most common kind.
inline Error bad_input(const std::string& message) { return {ErrorKind::kBadInput, message}; }

// The inverse of to_word, for protocol messages. Unknown words are kFailed.
ErrorKind error_kind_from_word(const std::string& word);

}  // namespace ampere
