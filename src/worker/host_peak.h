// The most bytes of tensors that are in the host's memory at one time.
#pragma once

#include <cstdint>
#include <functional>

namespace ampere::worker {

// Of those that `work` itself makes.
std::int64_t host_peak(const std::function<void()>& work);

}  // namespace ampere::worker
