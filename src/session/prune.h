// Pruning with checks, as a user asks for it.
#pragma once

#include "prune/checked.h"
#include "session/profiling.h"

namespace ampere {

// With the worker that is at hand: the network as it is and the pruned one trained for a moment, in turns.
// Throws what prune_checked does, and Error{kBadInput} for data with replayed training.
CheckedPlan prune_with_checks(const Session& session, DeviceProfile& profile, const Network& network,
                              const TrainingSetup& setup, const PruneOptions& options,
                              const PruneCheckOptions& check);

}  // namespace ampere
