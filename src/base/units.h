// Energy, time and power as types, so that a joule is never added to a second.
#pragma once

#include <compare>

namespace ampere {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  // The number in the SI unit (joules, seconds, watts).
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity o) { return value_ += o.value_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value_ -= o.value_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return a * k; }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0;
};

using Joules = Quantity<struct JoulesTag>;
using Seconds = Quantity<struct SecondsTag>;
using Watts = Quantity<struct WattsTag>;

constexpr Joules operator*(Watts p, Seconds t) { return Joules(p.value() * t.value()); }
constexpr Joules operator*(Seconds t, Watts p) { return p * t; }
constexpr Watts operator/(Joules e, Seconds t) { return Watts(e.value() / t.value()); }
constexpr Seconds operator/(Joules e, Watts p) { return Seconds(e.value() / p.value()); }

}  // namespace ampere
