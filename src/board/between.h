// Between the places where something was recorded: linear over the triangles that they make.
#pragma once

#include <vector>

namespace ampere {

struct Recorded {
  double x = 0, y = 0, value = 0;
};

// Joins the places to triangles whose circles hold no other place (Delaunay's), and is linear in each; the
// same as recorded at every place. Around them, and where all lie on one line: as at the nearest place on the
// lines that join them. Places that are there twice count as their mean. Throws Error{kBadInput} for none.
class Between {
 public:
  explicit Between(std::vector<Recorded> places);
  double operator()(double x, double y) const;

 private:
  double on_a_line(double x, double y) const;

  std::vector<Recorded> places_;
  std::vector<double> raised_;  // of each place, so little that it only decides between equals
};

}  // namespace ampere
