// Work that many cores may share.
#pragma once

#include <cstddef>
#include <functional>

namespace ampere {

// Calls `work(begin, end)` for pieces of so many numbers that make up 0 to `count`, on as many cores as this
// thread may run on. Pieces must not write to what another one reads. Which pieces there are does not depend
// on the cores, so that every machine computes the same digits. Of what pieces throw, the first in their
// order is thrown here; deadlines (base/deadline.h) are not seen by pieces.
void in_parallel(std::size_t count, std::size_t in_a_piece,
                 const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace ampere
