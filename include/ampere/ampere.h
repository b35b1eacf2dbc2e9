// All of AMPERE, in the order of the data flow: a model is loaded, a device opened, the model's layers
// profiled on it; then training is estimated, networks are pruned, jobs scheduled, and what is known is
// reported. docs/library.md has an example.
//
// Conventions: energies are in joules, times in seconds, powers in watts, and the unit is the end of the
// name. Options are plain structs whose defaults are what `ampere` does; results are plain structs. Failures
// throw Error (error.h). Nothing is printed, and nothing here ends the program. Strings are UTF-8.
#pragma once

#include "ampere/device.h"
#include "ampere/error.h"
#include "ampere/estimate.h"
#include "ampere/memory.h"
#include "ampere/meter.h"
#include "ampere/model.h"
#include "ampere/profile.h"
#include "ampere/prune.h"
#include "ampere/recipe.h"
#include "ampere/report.h"
#include "ampere/schedule.h"
#include "ampere/tariff.h"
#include "ampere/tune.h"
#include "ampere/version.h"
