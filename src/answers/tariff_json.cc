#include "answers/tariff_json.h"

#include <string>

namespace ampere {
namespace {

void put_interval(Json& out, const std::string& name, const std::string& unit, const Interval& i) {
  out[name + unit] = i.value;
  out[name + "_low" + unit] = i.low;
  out[name + "_high" + unit] = i.high;
}

}  // namespace

void put_tariff(Json& out, const Tariff& t) {
  if (t.empty()) return;
  out["tariff"] = {{"price_per_kwh", t.price_per_kwh ? Json(*t.price_per_kwh) : Json()},
                   {"currency", t.currency},
                   {"carbon_g_per_kwh", t.carbon_g_per_kwh ? Json(*t.carbon_g_per_kwh) : Json()},
                   {"carbon_source", t.carbon_source}};
}

void put_bill(Json& out, const Tariff& tariff, const Interval& energy_j) {
  if (tariff.empty()) return;
  const Bill bill = bill_of(tariff, energy_j);
  put_interval(out, "energy", "_kwh", bill.energy_kwh);
  if (bill.cost) {
    put_interval(out, "cost", "", *bill.cost);
    out["currency"] = tariff.currency;
  }
  if (bill.carbon_g) put_interval(out, "carbon", "_g", *bill.carbon_g);
}

}  // namespace ampere
