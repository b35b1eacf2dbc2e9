// MobileNetV2 of the zoo: convolutions of one channel each between two that mix channels.
#pragma once

#include "network/zoo.h"

namespace ampere {

ZooEntry mobilenet_entry();

}  // namespace ampere
