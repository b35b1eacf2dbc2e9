// The ResNet family of the zoo: 18 to 152 layers, ImageNet and CIFAR stems.
#pragma once

#include <vector>

#include "network/zoo.h"

namespace ampere {

std::vector<ZooEntry> resnet_entries();

}  // namespace ampere
