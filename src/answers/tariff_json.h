// What energy costs, as fields of an answer.
#pragma once

#include "ampere/tariff.h"
#include "base/json.h"

namespace ampere {

// The tariff as the field "tariff" of an answer. Nothing where nothing was asked.
void put_tariff(Json& out, const Tariff& tariff);
// What this energy costs, as fields beside it: energy_kwh, cost, carbon_g, each with _low and _high.
void put_bill(Json& out, const Tariff& tariff, const Interval& energy_j);

}  // namespace ampere
