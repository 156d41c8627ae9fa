#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "app/balance/balance_report.h"
#include "capacity/forecast.h"
#include "capacity/law_settings.h"

namespace spillway::app {

namespace {

constexpr double kWidth = 860;
constexpr double kPanelHeight = 200;
constexpr double kLeft = 50;
constexpr size_t kMostPoints = 1000;

/// At most kMostPoints of `bands`: the least, the mean of means and the most of as many each.
std::vector<capacity::Band> thinned(std::span<const capacity::Band> bands) {
  const size_t each = bands.size() / kMostPoints + 1;
  std::vector<capacity::Band> points;
  for (size_t i = 0; i < bands.size(); i += each) {
    const auto part = bands.subspan(i, std::min(each, bands.size() - i));
    capacity::Band point = part.front();
    point.mean = 0;
    for (const auto& band : part) {
      point.least = std::min(point.least, band.least);
      point.most = std::max(point.most, band.most);
      point.mean += band.mean / static_cast<double>(part.size());
    }
    points.push_back(point);
  }
  return points;
}

/// One panel with its top at `top`; 100 % is at the line, `highest` at the top.
void append_panel(std::string& svg, std::string_view name,
                  std::span<const capacity::Band> all_bands, double top, double highest) {
  auto out = std::back_inserter(svg);
  const auto bands = thinned(all_bands);
  const auto x = [&](size_t i) {
    return kLeft + (kWidth - kLeft - 10) * static_cast<double>(i) /
                       static_cast<double>(std::max<size_t>(1, bands.size() - 1));
  };
  const auto y = [&](double used) { return top + kPanelHeight * (1 - used / highest); };
  fmt::format_to(out, "<text x='{}' y='{}' font-weight='bold'>{}</text>\n", kLeft, top - 6, name);
  for (const double line : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    fmt::format_to(out,
                   "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ccc'/>"
                   "<text x='8' y='{3:.1f}'>{4:.0f} %</text>\n",
                   kLeft, kWidth - 10, y(line), y(line) + 4, 100 * line);
  }
  svg += "<polygon fill='#9bc' fill-opacity='0.6' points='";
  for (size_t i = 0; i < bands.size(); ++i) {
    fmt::format_to(out, "{:.1f},{:.1f} ", x(i), y(bands[i].most));
  }
  for (size_t i = bands.size(); i-- > 0;) {
    fmt::format_to(out, "{:.1f},{:.1f} ", x(i), y(bands[i].least));
  }
  svg += "'/>\n<polyline fill='none' stroke='#036' points='";
  for (size_t i = 0; i < bands.size(); ++i) {
    fmt::format_to(out, "{:.1f},{:.1f} ", x(i), y(bands[i].mean));
  }
  svg += "'/>\n";
}

}  // namespace

std::string report_svg(const BalanceReport& report) {
  const auto& forecast = report.forecast;
  double highest = 1;
  for (const auto* bands : {&forecast.observed_bands, &forecast.predicted_bands}) {
    for (const auto& band : *bands) {
      highest = std::max(highest, band.most);
    }
  }
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='500' viewBox='0 0 {0} 500' "
      "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n",
      kWidth);
  append_panel(svg, "observed: CPU of the servers, least to most, and their mean",
               forecast.observed_bands, 30, highest);
  append_panel(svg, fmt::format("{}: predicted", capacity::to_string(report.settings.law.law)),
               forecast.predicted_bands, 280, highest);
  return svg + "</svg>\n";
}

}  // namespace spillway::app
