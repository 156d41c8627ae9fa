#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::app {

/// One line of a plot. A NaN is a gap.
struct PlotLine {
  std::string name;
  std::string_view css_class;  ///< "l1" to "l4": its colour.
  std::vector<double> values;
};

/// Lines over equal steps of time.
struct Plot {
  std::string title;
  std::string unit;
  double step_s = 1;  ///< Between two values.
  bool log_scale = false;
  std::vector<PlotLine> lines;
  std::vector<bool> shaded;  ///< Steps to be marked; as long as the lines, or empty.
};

/// The plot as an SVG element with axes, legend and, at each step, a title that names its values.
[[nodiscard]] std::string svg_of(const Plot& plot);

/// The text with what HTML would read as markup escaped.
[[nodiscard]] std::string escaped_html(std::string_view text);

}  // namespace spillway::app
