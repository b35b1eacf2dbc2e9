#include "worker/fit.h"

#include <sstream>

#include "base/error.h"
#include "network/cost.h"

namespace ampere::worker {

// Weights, gradients and up to two optimizer states, and activations with their gradients and the
// workspace of the kernels.
void check_memory(const Network& network, std::int64_t batch, const Device& device) {
  const Cost cost = network_cost(network, batch);
  const double need = cost.parameters * 4 * 4 + cost.activation_bytes * 3;
  const double free = static_cast<double>(device.free_memory());
  if (need <= free) return;
  std::ostringstream message;
  message.precision(3);
  message << "network " << network.name() << " at batch " << batch << " needs about " << need / 1e9
          << " GB, and " << free / 1e9 << " GB of memory are free; use a smaller batch or fewer channels";
  throw Error(ErrorKind::kOutOfMemory, message.str());
}

}  // namespace ampere::worker
