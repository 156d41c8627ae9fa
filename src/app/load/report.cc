#include "app/load/report.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "app/load/load_run.h"
#include "base/time.h"
#include "workload/latency_histogram.h"
#include "workload/series.h"
#include "workload/tally.h"

namespace spillway::app {

namespace {

using workload::AnswerKind;
using workload::Ending;
using workload::Tally;

double seconds_of(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string percentiles_text(const workload::LatencyHistogram& latency) {
  std::string out;
  for (const auto& [name, ratio] : kQuantiles) {
    out += fmt::format("  {} {:<8.2f}", name, base::to_ms(latency.quantile(ratio)));
  }
  return out;
}

std::string starved_text(const workload::Series& series) {
  if (series.starved_count() == 0) {
    return "";
  }
  std::string out;
  size_t told = 0;
  constexpr size_t kTold = 12;
  for (size_t i = 0; i < series.intervals().size() && told < kTold; ++i) {
    if (series.starved(i)) {
      out += fmt::format(" {:.0f}s", seconds_of(series.interval()) * static_cast<double>(i));
      ++told;
    }
  }
  return fmt::format("starved      in {} of {} intervals the generator was the bottleneck:{}{}\n",
                     series.starved_count(), series.intervals().size(), out,
                     told < series.starved_count() ? " ..." : "");
}

std::string statuses_text(const Tally& tally) {
  std::string out;
  for (size_t status = 0; status < Tally::kStatuses; ++status) {
    if (const auto count = tally.status(status); count > 0) {
      out += fmt::format("  {} x {}", status, count);
    }
  }
  return out;
}

}  // namespace

std::string failure_of(const RunSummary& run) {
  const Tally& tally = run.tally;
  if (tally.missed_ratio() <= kMissedRatioMax) {
    return "";
  }
  return fmt::format(
      "{:.1f} % of the arrivals were late ({}) or dropped ({}): at most {:.0f} % may be",
      100 * tally.missed_ratio(), tally.late(), tally.dropped(), 100 * kMissedRatioMax);
}

std::string report_text(const RunSummary& run) {
  const Tally& tally = run.tally;
  std::string out =
      fmt::format("not sent     dropped {}   late {}   of {} offered ({:.2f} %)\n", tally.dropped(),
                  tally.late(), tally.offered(), 100 * tally.missed_ratio());
  const std::string failure = failure_of(run);
  out += failure.empty() ? "verdict      the schedule was kept\n"
                         : fmt::format("verdict      FAIL: {}\n", failure);
  out += starved_text(run.series);
  out += fmt::format(
      "rate         offered {:.1f}/s   achieved {:.1f}/s ({:.2f} %)   {} connections opened\n",
      run.rate, run.rate_achieved(), 100 * run.achieved_ratio(), run.connects);
  out += "answers    ";
  for (size_t i = 0; i < workload::kAnswerKinds; ++i) {
    const auto kind = static_cast<AnswerKind>(i);
    if (tally.answers(kind) > 0) {
      out += fmt::format("  {} {}", to_string(kind), tally.answers(kind));
    }
  }
  out += "\nstatus     " + statuses_text(tally);
  out += fmt::format("\nerrors       {} ({:.3f} %)   over tmax {}", tally.failed(),
                     100 * tally.error_ratio(), tally.over_tmax());
  if (tally.broken() > 0) {
    out += fmt::format("   broken on purpose {}", tally.broken());
  }
  out += "\nlatency ms " + percentiles_text(tally.latency()) + " (from the due time, all)\n";
  for (size_t i = 0; i < workload::kEndings; ++i) {
    const auto& latency = tally.latency(static_cast<Ending>(i));
    if (latency.total() > 0) {
      out += fmt::format("  {:<9}{} ({})\n", to_string(static_cast<Ending>(i)),
                         percentiles_text(latency), latency.total());
    }
  }
  return out + "sender lag " + percentiles_text(tally.lag()) + "\n";
}

std::string progress_line(const RunSummary& run) {
  constexpr size_t kWidth = 30;
  const double ratio = std::clamp(seconds_of(run.elapsed) / seconds_of(run.duration), 0.0, 1.0);
  const auto filled = static_cast<size_t>(ratio * kWidth);
  const Tally& tally = run.tally;
  return fmt::format("[{}{}] {:3.0f} %  {:.0f}/s  p99 {:.1f} ms  in flight {}  dropped {}  late {}",
                     std::string(filled, '#'), std::string(kWidth - filled, '.'), 100 * ratio,
                     run.rate_achieved(), base::to_ms(tally.latency().quantile(0.99)),
                     run.in_flight, tally.dropped(), tally.late());
}

}  // namespace spillway::app
