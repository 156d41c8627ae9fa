#include "balance/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/load/plot.h"
#include "balance/law_run.h"
#include "balance/record.h"

namespace spillway::balance {

namespace {

constexpr std::array<std::string_view, 6> kColours = {"l1", "l2", "l3", "l4", "l5", "l6"};
constexpr double kPlotHeight = 270;
constexpr std::string_view kStyle =
    "<style>text{font:12px system-ui,sans-serif;fill:#5b6675}.title{fill:#1c2430;font-weight:600}"
    "path{fill:none;stroke-width:1.6}.grid{stroke:#dfe4ea}.step{fill:transparent}"
    ".l1{stroke:#8a8f98}.l2{stroke:#d9822b}.l3{stroke:#1d9a86}.l4{stroke:#7d4fc4}.l5{stroke:#"
    "2f6fd6}"
    ".l6{stroke:#c2303a}.l1t{fill:#8a8f98}.l2t{fill:#d9822b}.l3t{fill:#1d9a86}.l4t{fill:#7d4fc4}"
    ".l5t{fill:#2f6fd6}.l6t{fill:#c2303a}</style>";

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "null";
}

app::Plot spread_plot(const std::vector<NamedRun>& runs) {
  app::Plot plot{.title = "spread, 10 s", .unit = "points", .lines = {}, .shaded = {}};
  size_t longest = 0;
  for (const NamedRun& named : runs) {
    longest = std::max(longest, named.run.record.readings.size());
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    app::PlotLine line{.name = runs[i].name,
                       .css_class = kColours[i % kColours.size()],
                       .values = std::vector<double>(longest, std::nan(""))};
    for (const Window& window : windows(runs[i].run.record, 10, 10)) {
      line.values[std::min(longest - 1, static_cast<size_t>(std::lround(window.ends_at_s)))] =
          window.spread();
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

app::Plot cpu_plot(const NamedRun& named) {
  const Record& record = named.run.record;
  app::Plot plot{.title = fmt::format("{}: CPU of each back end, 10 s", named.name),
                 .unit = "% of quota",
                 .lines = {},
                 .shaded = {}};
  for (size_t i = 0; i < record.names.size(); ++i) {
    app::PlotLine line{.name = record.names[i],
                       .css_class = kColours[i % kColours.size()],
                       .values = std::vector<double>(record.readings.size(), std::nan(""))};
    for (const Window& window : windows(record, 10, 10)) {
      line.values[std::min(line.values.size() - 1,
                           static_cast<size_t>(std::lround(window.ends_at_s)))] =
          window.utilization[i];
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

}  // namespace

Figures figures_of(const LawRun& run) {
  const auto settled = windows(run.record, 10, 30);
  const auto minutes = windows(run.record, 60, 90);
  Figures figures{.spread_10s_p95 = spread_quantile(settled, 0.95),
                  .within_5 = share_within(settled, 5),
                  .spread_60s_max = spread_quantile(minutes, 1),
                  .settled_at_s = std::nan(""),
                  .hottest = std::nan(""),
                  .p99_ms = run.typical_p99_ms(30),
                  .failed_ratio = run.load.failed_ratio()};
  const auto all = windows(run.record, 10, 10);
  for (const Window& window : all) {
    if (window.spread() <= 5) {
      figures.settled_at_s = window.ends_at_s;
      break;
    }
  }
  if (!all.empty()) {
    figures.hottest = std::ranges::max(all.back().utilization);
  }
  return figures;
}

std::string table_of(const std::vector<NamedRun>& runs) {
  std::string text =
      "| law | 10 s spread, p95 from 30 s | windows <= 5 points | 60 s spread, largest from 90 s | "
      "first <= 5 points | hottest at the end | p99 of a typical second | failed | processors used "
      "by others |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const NamedRun& named : runs) {
    const Figures figures = figures_of(named.run);
    text += fmt::format("| {} | {} | {} % | {} | {} s | {} % | {} ms | {:.2f} % | {:.2f} |\n",
                        named.name, number(figures.spread_10s_p95, 1),
                        number(100 * figures.within_5, 0), number(figures.spread_60s_max, 1),
                        number(figures.settled_at_s, 0), number(figures.hottest, 0),
                        number(figures.p99_ms, 1), 100 * figures.failed_ratio,
                        named.run.record.others_cores);
  }
  return text;
}

std::string json_of(const std::vector<NamedRun>& runs) {
  std::string text = R"({"bench":"balance_farm","rows":[)";
  for (size_t i = 0; i < runs.size(); ++i) {
    const NamedRun& named = runs[i];
    const Figures figures = figures_of(named.run);
    text += fmt::format(
        R"({}{{"law":"{}","seconds":{},"demand":{:g},"rate_per_s":{:.0f},"period_ms":{},)"
        R"("spread_10s_p95":{},"within_5":{},"spread_60s_max":{},"settled_at_s":{},"hottest":{},)"
        R"("p99_ms":{},"failed_ratio":{},"missed":{},"load_average":{:.2f},"others_cores":{:.2f},"spread_10s":[)",
        i == 0 ? "" : ",", named.name, named.plan.duration.count(), named.plan.demand,
        named.run.rate_per_s, named.plan.agents.period.count(), json_number(figures.spread_10s_p95),
        json_number(figures.within_5), json_number(figures.spread_60s_max),
        json_number(figures.settled_at_s), json_number(figures.hottest),
        json_number(figures.p99_ms), json_number(figures.failed_ratio), named.run.load.missed,
        named.run.record.load_average, named.run.record.others_cores);
    const auto all = windows(named.run.record, 10, 10);
    for (size_t w = 0; w < all.size(); ++w) {
      text += fmt::format("{}{:.1f}", w == 0 ? "" : ",", all[w].spread());
    }
    text += "]}";
  }
  return text + "]}";
}

std::string svg_file_of(const std::vector<NamedRun>& runs) {
  std::vector<std::string> plots{app::svg_of(spread_plot(runs))};
  for (const NamedRun& named : runs) {
    if (named.plan.agents.law == "equal" || named.plan.agents.law == "setpoint" ||
        named.plan.agents.law == "capacity") {
      plots.push_back(app::svg_of(cpu_plot(named)));
    }
  }
  const double height = kPlotHeight * static_cast<double>(plots.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 {:.0f}\">{}"
      "<rect width=\"880\" height=\"{:.0f}\" fill=\"#fff\"/>\n",
      height, kStyle, height);
  for (size_t i = 0; i < plots.size(); ++i) {
    // Nested, each where it belongs, without the columns that answer to a pointer.
    if (const auto columns = plots[i].find("<rect "); columns != std::string::npos) {
      plots[i].replace(columns, std::string::npos, "</svg>\n");
    }
    text += fmt::format("<svg x=\"10\" y=\"{:.0f}\" width=\"860\" height=\"260\"{}",
                        kPlotHeight * static_cast<double>(i), plots[i].substr(4));
  }
  return text + "</svg>\n";
}

}  // namespace spillway::balance
