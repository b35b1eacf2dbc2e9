// Why a job is not in a plan, in one sentence with figures.
#pragma once

#include "schedule/plan_draft.h"
#include "schedule/schedule.h"

namespace ampere {

Refusal explain_refusal(const PlanDraft& plan, std::size_t job);

}  // namespace ampere
