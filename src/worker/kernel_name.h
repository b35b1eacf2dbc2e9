// Names of kernels that people can read and programs can compare.
#pragma once

#include <string>

namespace ampere::worker {

// "void at::native::elementwise_kernel<128, 4, ...>(int, ...)", mangled or not, to
// "elementwise_kernel~1f2e3d4c". Templates run to a thousand characters; what they say is in the hash, which
// is that of the name as given.
std::string short_kernel_name(const std::string& name);

}  // namespace ampere::worker
