// Why a job is not in a plan, in one sentence with figures.
#pragma once

#include "ampere/schedule.h"
#include "schedule/plan_draft.h"

namespace ampere {

Refusal explain_refusal(const PlanDraft& plan, std::size_t job);

}  // namespace ampere
