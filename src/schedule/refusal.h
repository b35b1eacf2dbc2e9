// Why a job is not in a plan, in one sentence with figures.
#pragma once

#include "schedule/draft.h"
#include "schedule/schedule.h"

namespace ampere {

Refusal explain_refusal(const Draft& plan, std::size_t job);

}  // namespace ampere
