// The figures of a report as SVG, drawn without a browser by the same program that draws them in one.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace ampere {

struct FigureFile {
  std::string name;  // "scatter-nvidia-h200-cnn5-b256-split": fit for a file name
  std::string svg;
  std::string csv;  // its numbers
};

// Draws every figure in every way the page can show it, one after the other. `width` is in pixels; heights
// follow from what is shown. Throws Error{kFailed} when the drawing program fails, and what `take` throws.
void draw_figures(const Json& data, int width,
                  const std::function<void(int done, int of, const FigureFile&)>& take);

}  // namespace ampere
