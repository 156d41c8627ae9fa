#include "app/load/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace spillway::app {

namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 260;
constexpr double kLeft = 64;
constexpr double kRight = 12;
constexpr double kTop = 34;
constexpr double kBottom = 30;
constexpr size_t kHoverMax = 1200;  ///< Steps with a title of their own.

struct Scale {
  double low = 0;
  double high = 1;
  bool log = false;

  /// Where a value lies, in the picture.
  [[nodiscard]] double y(double value) const {
    const double part = log ? std::log(std::max(value, low) / low) / std::log(high / low)
                            : (value - low) / (high - low);
    return kHeight - kBottom - std::clamp(part, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }
};

Scale scale_of(const Plot& plot) {
  double low = HUGE_VAL;
  double high = 0;
  for (const PlotLine& line : plot.lines) {
    for (const double value : line.values) {
      if (std::isfinite(value)) {
        high = std::max(high, value);
        low = value > 0 ? std::min(low, value) : low;
      }
    }
  }
  if (!plot.log_scale || high <= 0) {
    return {.low = 0, .high = high > 0 ? high * 1.1 : 1, .log = false};
  }
  const double bottom = std::pow(10, std::floor(std::log10(low)));
  const double top = std::pow(10, std::ceil(std::log10(high)));
  return {.low = bottom, .high = top > bottom ? top : bottom * 10, .log = true};
}

/// Round values for the grid.
std::vector<double> ticks_of(const Scale& scale) {
  std::vector<double> ticks;
  if (scale.log) {
    const auto decades = std::lround(std::log10(scale.high / scale.low));
    for (int i = 0; i <= decades; ++i) {
      ticks.push_back(scale.low * std::pow(10, i));
    }
    return ticks;
  }
  constexpr std::array<double, 3> kSteps = {1, 2, 5};
  const double rough = scale.high / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double candidate : kSteps) {
    if (candidate * power >= rough) {
      step = candidate * power;
      break;
    }
  }
  const auto count = static_cast<int>(scale.high / step);
  for (int i = 0; i <= count; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

double x_of(size_t index, size_t count) {
  const double steps = std::max<double>(1, static_cast<double>(count) - 1);
  return kLeft + static_cast<double>(index) / steps * (kWidth - kLeft - kRight);
}

std::string path_of(const PlotLine& line, const Scale& scale) {
  std::string path;
  bool drawing = false;
  for (size_t i = 0; i < line.values.size(); ++i) {
    if (!std::isfinite(line.values[i])) {
      drawing = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x_of(i, line.values.size()),
                        scale.y(line.values[i]));
    drawing = true;
  }
  return fmt::format(R"(<path class="{}" d="{}"/>)", line.css_class, path);
}

std::string grid(const Plot& plot, const Scale& scale, size_t count) {
  std::string out;
  for (const double tick : ticks_of(scale)) {
    const double y = scale.y(tick);
    out += fmt::format(R"(<line class="grid" x1="{:.0f}" x2="{:.0f}" y1="{:.1f}" y2="{:.1f}"/>)"
                       R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{:g}</text>)",
                       kLeft, kWidth - kRight, y, y, kLeft - 6, y + 4, tick);
  }
  constexpr size_t kLabels = 8;
  const size_t every = std::max<size_t>(1, (count + kLabels - 1) / kLabels);
  for (size_t i = 0; i < count; i += every) {
    out +=
        fmt::format(R"(<text x="{:.1f}" y="{:.0f}" text-anchor="middle">{:g} s</text>)",
                    x_of(i, count), kHeight - kBottom + 18, plot.step_s * static_cast<double>(i));
  }
  return out;
}

std::string legend(const Plot& plot) {
  std::string out = fmt::format(R"(<text class="title" x="{:.0f}" y="16">{} ({})</text>)", kLeft,
                                escaped_html(plot.title), escaped_html(plot.unit));
  double x = kWidth - kRight;
  for (auto line = plot.lines.rbegin(); line != plot.lines.rend(); ++line) {
    out += fmt::format(R"(<text class="{}t" x="{:.0f}" y="16" text-anchor="end">{}</text>)",
                       line->css_class, x, escaped_html(line->name));
    x -= 14 + 8 * static_cast<double>(line->name.size());
  }
  return out;
}

/// Shades and the invisible columns that show a step's values to whoever points at them.
std::string columns(const Plot& plot, size_t count) {
  std::string out;
  const double width = count < 2 ? kWidth - kLeft - kRight : x_of(1, count) - x_of(0, count);
  for (size_t i = 0; i < count; ++i) {
    const bool shaded = i < plot.shaded.size() && plot.shaded[i];
    if (!shaded && count > kHoverMax) {
      continue;
    }
    std::string title = fmt::format("{:g} s", plot.step_s * static_cast<double>(i));
    for (const PlotLine& line : plot.lines) {
      if (std::isfinite(line.values[i])) {
        title += fmt::format("\n{} {:.4g}", line.name, line.values[i]);
      }
    }
    out += fmt::format(
        R"(<rect class="{}" x="{:.1f}" y="{:.0f}" width="{:.1f}" height="{:.0f}"><title>{}{}</title></rect>)",
        shaded ? "starved" : "step", x_of(i, count) - width / 2, kTop, width,
        kHeight - kTop - kBottom, escaped_html(title),
        shaded ? "\nthe generator was the bottleneck" : "");
  }
  return out;
}

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_of(const Plot& plot) {
  size_t count = 0;
  for (const PlotLine& line : plot.lines) {
    count = std::max(count, line.values.size());
  }
  const Scale scale = scale_of(plot);
  std::string out = fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">)",
                                kWidth, kHeight, escaped_html(plot.title));
  out += grid(plot, scale, count) + legend(plot);
  for (const PlotLine& line : plot.lines) {
    out += path_of(line, scale);
  }
  return out + columns(plot, count) + "</svg>\n";
}

}  // namespace spillway::app
