#include "report/numbers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ampere {

double five_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

Json short_number(double value) { return number_or_null(five_digits(value)); }

}  // namespace ampere
