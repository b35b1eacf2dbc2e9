// Quantities as people write them, with their unit: "15Wh", "5000mAh@3.85V", "2h30min", "10W", "5%".
#pragma once

#include <string>

#include "base/units.h"

namespace ampere {

// All of them throw Error{kBadInput} that starts with `what` ("--battery", "device \"phone\": charge") and
// says what was expected. A number without its unit is refused, and so is one that is negative or not finite.
// Blanks around the number and the unit do not matter; the case of units does (mWh is not MWh).

// Wh, kWh, mWh, J, kJ, MJ, mJ, or a charge at a voltage: mAh@V, Ah@V ("5000mAh@3.85V").
Joules parse_energy(const std::string& text, const std::string& what);
// s, ms, min, h, d, several of them in a row ("1h30min").
Seconds parse_duration(const std::string& text, const std::string& what);
// W, mW, kW.
Watts parse_power(const std::string& text, const std::string& what);
// Of memory: B, kB, MB, GB, KiB, MiB, GiB.
double parse_bytes(const std::string& text, const std::string& what);
// "1.50 GiB", "812 MiB"
std::string bytes_text(double bytes);
// "5%" or "0.05": a fraction, which must lie between `low` and `high`.
double parse_fraction(const std::string& text, const std::string& what, double low = 0, double high = 1);

}  // namespace ampere
