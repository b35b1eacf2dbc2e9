// The processor, as this engine trains on it.
#pragma once

#include <memory>

#include "worker/device.h"

namespace ampere::onednn {

// "oneDNN 2.6.3": the library that is loaded, which may be another than the one this was built with.
std::string framework_name();

std::unique_ptr<worker::Device> open_processor();

}  // namespace ampere::onednn
