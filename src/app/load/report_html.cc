#include "app/load/report_html.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/load/load_run.h"
#include "app/load/plot.h"
#include "app/load/report.h"
#include "base/time.h"
#include "workload/gates.h"
#include "workload/latency_histogram.h"
#include "workload/series.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

using workload::Ending;
using workload::Interval;
using workload::Tally;

constexpr std::string_view kStyle = R"(<style>
:root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--soft:#5b6675;--grid:#dfe4ea;--bad:#c2303a;--good:#23804a;
--l1:#2f6fd6;--l2:#1d9a86;--l3:#d9822b;--l4:#c2303a;--starved:rgba(217,130,43,.18)}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--paper:#14181e;--soft:#98a3b3;--grid:#2b323c;--bad:#ff7b84;
--good:#6fd79a;--l1:#7aa9ff;--l2:#4fd1bc;--l3:#f2a65a;--l4:#ff7b84;--starved:rgba(242,166,90,.2)}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:900px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.3rem;margin:0 0 .2rem}h2{font-size:1rem;margin:1.6rem 0 .3rem}p{margin:.2rem 0}.soft{color:var(--soft)}
.bad{color:var(--bad);font-weight:600}.good{color:var(--good);font-weight:600}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--grid)}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}
svg{width:100%;height:auto;margin:.8rem 0;display:block}svg text{font-size:12px;fill:var(--soft)}svg .title{fill:var(--ink);font-weight:600}
svg path{fill:none;stroke-width:1.6}svg .grid{stroke:var(--grid)}svg .step{fill:transparent}svg .starved{fill:var(--starved)}
.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}.l4{stroke:var(--l4)}
svg .l1t{fill:var(--l1)}svg .l2t{fill:var(--l2)}svg .l3t{fill:var(--l3)}svg .l4t{fill:var(--l4)}
</style>
)";

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

template <typename Value>
std::vector<double> over_time(const workload::Series& series, Value value) {
  std::vector<double> values;
  values.reserve(series.intervals().size());
  for (const Interval& interval : series.intervals()) {
    values.push_back(value(interval));
  }
  return values;
}

std::vector<bool> shades(const workload::Series& series) {
  std::vector<bool> shaded;
  shaded.reserve(series.intervals().size());
  for (size_t i = 0; i < series.intervals().size(); ++i) {
    shaded.push_back(series.starved(i));
  }
  return shaded;
}

PlotLine percentile_line(const workload::Series& series, const char* name,
                         std::string_view css_class, double ratio) {
  return {.name = name,
          .css_class = css_class,
          .values = over_time(series, [ratio](const Interval& interval) {
            return interval.ended == 0 ? std::nan("") : base::to_ms(interval.quantile(ratio));
          })};
}

std::string plots(const RunSummary& run) {
  const workload::Series& series = run.series;
  const double step = seconds_of(series.interval());
  const auto each = [&](const char* name, std::string_view css_class, auto count) {
    return PlotLine{.name = name,
                    .css_class = css_class,
                    .values = over_time(series, [&](const Interval& interval) {
                      return static_cast<double>(count(interval)) / step;
                    })};
  };
  const auto shaded = shades(series);
  return svg_of({.title = "Latency from the due time",
                 .unit = "ms",
                 .step_s = step,
                 .log_scale = true,
                 .lines = {percentile_line(series, "p50", "l1", 0.5),
                           percentile_line(series, "p90", "l2", 0.9),
                           percentile_line(series, "p99", "l3", 0.99),
                           percentile_line(series, "max", "l4", 1)},
                 .shaded = shaded}) +
         svg_of(
             {.title = "Rate",
              .unit = "per second",
              .step_s = step,
              .lines = {each("offered", "l1", [](const Interval& one) { return one.offered; }),
                        each("answered", "l2", [](const Interval& one) { return one.answered; })},
              .shaded = shaded}) +
         svg_of({.title = "What went wrong",
                 .unit = "per second",
                 .step_s = step,
                 .lines = {each("errors", "l4", [](const Interval& one) { return one.failed; }),
                           each("dropped", "l3", [](const Interval& one) { return one.dropped; }),
                           each("late", "l2", [](const Interval& one) { return one.late; })},
                 .shaded = shaded});
}

std::string percentile_row(std::string_view name, const workload::LatencyHistogram& latency) {
  std::string row = fmt::format("<tr><td>{}</td><td>{}</td>", name, latency.total());
  for (const auto& [title, ratio] : kQuantiles) {
    row += fmt::format("<td>{:.2f}</td>", base::to_ms(latency.quantile(ratio)));
  }
  return row + "</tr>\n";
}

std::string latency_table(const Tally& tally) {
  std::string out =
      "<h2>Latency in ms, from when a request was due; failures are in it</h2>\n"
      "<table><tr><th>class</th><th>requests</th>";
  for (const auto& [title, ratio] : kQuantiles) {
    out += fmt::format("<th>{}</th>", title);
  }
  out += "</tr>\n" + percentile_row("all", tally.latency());
  for (size_t i = 0; i < workload::kEndings; ++i) {
    const auto ending = static_cast<Ending>(i);
    if (tally.latency(ending).total() > 0) {
      out += percentile_row(to_string(ending), tally.latency(ending));
    }
  }
  return out + percentile_row("sender lag", tally.lag()) + "</table>\n";
}

std::string counts_table(const Tally& tally) {
  std::string out = "<h2>Answers</h2>\n<table><tr><th>kind or status</th><th>requests</th></tr>\n";
  for (size_t i = 0; i < workload::kAnswerKinds; ++i) {
    const auto kind = static_cast<workload::AnswerKind>(i);
    if (tally.answers(kind) > 0) {
      out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", to_string(kind), tally.answers(kind));
    }
  }
  for (size_t status = 0; status < Tally::kStatuses; ++status) {
    if (tally.status(status) > 0) {
      out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", status, tally.status(status));
    }
  }
  return out + "</table>\n";
}

std::string gates_table(const std::vector<workload::GateResult>& gates) {
  if (gates.empty()) {
    return "";
  }
  std::string out = "<h2>Gates</h2>\n<table><tr><th>gate</th><th>measured</th><th></th></tr>\n";
  for (const auto& result : gates) {
    out += fmt::format(R"(<tr><td>{}</td><td>{:.6g}</td><td class="{}">{}</td></tr>)"
                       "\n",
                       escaped_html(result.gate.text), result.value, result.passed ? "good" : "bad",
                       result.passed ? "passed" : "FAILED");
  }
  return out + "</table>\n";
}

std::string head(const RunSummary& run, const std::string& title) {
  const Tally& tally = run.tally;
  const std::string failure = failure_of(run);
  std::string out = fmt::format(
      "<h1>{}</h1>\n<p>Not sent: <b>{}</b> dropped, <b>{}</b> late, of {} offered ({:.2f} %). ",
      escaped_html(title), tally.dropped(), tally.late(), tally.offered(),
      100 * tally.missed_ratio());
  out += failure.empty()
             ? R"(<span class="good">The schedule was kept.</span></p>)"
             : fmt::format(R"(<span class="bad">FAILED: {}.</span></p>)", escaped_html(failure));
  out += fmt::format(
      "\n<p>Offered {:.1f}/s, achieved {:.1f}/s ({:.2f} %) over {:.1f} s; {} errors ({:.3f} %); {} "
      "over tmax.</p>\n",
      run.rate, run.rate_achieved(), 100 * run.achieved_ratio(), seconds_of(run.duration),
      tally.failed(), 100 * tally.error_ratio(), tally.over_tmax());
  out += fmt::format(
      R"(<p class="soft">{} worker(s), {} connections opened, seed {}. The generator was the )"
      "bottleneck in {} of {} intervals (shaded).</p>\n",
      run.workers, run.connects, run.seed, run.series.starved_count(),
      run.series.intervals().size());
  return out;
}

}  // namespace

std::string report_html(const RunSummary& run, const std::string& title,
                        const std::vector<workload::GateResult>& gates) {
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width\">\n<title>{}</title>\n",
             escaped_html(title)) +
         std::string(kStyle) + head(run, title) + gates_table(gates) + plots(run) +
         latency_table(run.tally) + counts_table(run.tally) + "</html>\n";
}

}  // namespace spillway::app
