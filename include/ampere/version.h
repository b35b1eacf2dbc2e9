// Which AMPERE this is. Versions are MAJOR.MINOR.PATCH; while MAJOR is 0, a new MINOR may change these
// headers and a new PATCH does not. Stores of every earlier version stay readable.
#pragma once

namespace ampere {

// Of these headers. The build takes its version from this line.
inline constexpr char kVersion[] = "0.2.0";

// Of the library that was linked. Differs from kVersion where headers and library come from two
// installations.
const char* version();

}  // namespace ampere
