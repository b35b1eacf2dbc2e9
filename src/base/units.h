// Energy, time and power as types, so that a joule is never added to a second.
#pragma once

#include <compare>

namespace ampere {

template <class Tag>
class Dimensioned {
 public:
  constexpr Dimensioned() = default;
  constexpr explicit Dimensioned(double value) : value_(value) {}

  // The number in the SI unit (joules, seconds, watts).
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Dimensioned&) const = default;
  constexpr Dimensioned operator-() const { return Dimensioned(-value_); }
  constexpr Dimensioned& operator+=(Dimensioned o) { return value_ += o.value_, *this; }
  constexpr Dimensioned& operator-=(Dimensioned o) { return value_ -= o.value_, *this; }
  friend constexpr Dimensioned operator+(Dimensioned a, Dimensioned b) {
    return Dimensioned(a.value_ + b.value_);
  }
  friend constexpr Dimensioned operator-(Dimensioned a, Dimensioned b) {
    return Dimensioned(a.value_ - b.value_);
  }
  friend constexpr Dimensioned operator*(Dimensioned a, double k) { return Dimensioned(a.value_ * k); }
  friend constexpr Dimensioned operator*(double k, Dimensioned a) { return a * k; }
  friend constexpr Dimensioned operator/(Dimensioned a, double k) { return Dimensioned(a.value_ / k); }
  friend constexpr double operator/(Dimensioned a, Dimensioned b) { return a.value_ / b.value_; }

 private:
  double value_ = 0;
};

using Joules = Dimensioned<struct JoulesTag>;
using Seconds = Dimensioned<struct SecondsTag>;
using Watts = Dimensioned<struct WattsTag>;

constexpr Joules operator*(Watts p, Seconds t) { return Joules(p.value() * t.value()); }
constexpr Joules operator*(Seconds t, Watts p) { return p * t; }
constexpr Watts operator/(Joules e, Seconds t) { return Watts(e.value() / t.value()); }
constexpr Seconds operator/(Joules e, Watts p) { return Seconds(e.value() / p.value()); }

}  // namespace ampere
