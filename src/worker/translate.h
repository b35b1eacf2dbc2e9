// Foreign exceptions as ours.
#pragma once

#include <exception>

#include "base/error.h"

namespace ampere::worker {

// What the exception means: our own as it is, LibTorch's out-of-memory errors and std::bad_alloc as
// kOutOfMemory, everything else as kFailed with the first line of its message.
Error translate(const std::exception_ptr& exception);

}  // namespace ampere::worker
