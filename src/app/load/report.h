#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/load/load_run.h"
#include "workload/gates.h"
#include "workload/latency_histogram.h"

namespace spillway::app {

/// Above this share of late and dropped arrivals a run has failed, whatever its latencies.
inline constexpr double kMissedRatioMax = 0.01;

/// The percentiles of every report.
inline constexpr std::array<std::pair<std::string_view, double>, 6> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}}};

/// "" when the run may be believed, else one sentence: the generator did not keep its schedule.
[[nodiscard]] std::string failure_of(const RunSummary& run);

/// One line of JSON: what was not sent first, then endings, statuses, answers, percentiles.
[[nodiscard]] std::string report_json(const RunSummary& run,
                                      const std::vector<workload::GateResult>& gates = {});

/// The same with the latency buckets of every interval: what `compare` and the plots are made of.
[[nodiscard]] std::string report_json_full(const RunSummary& run);

/// For people.
[[nodiscard]] std::string report_text(const RunSummary& run);

/// One line of progress: a bar, the rate achieved, the p99 so far.
[[nodiscard]] std::string progress_line(const RunSummary& run);

/// {"p50":1.2,"p90":…,"p95":…,"p99":…,"p999":…,"max":…} in milliseconds.
[[nodiscard]] std::string percentiles_json(const workload::LatencyHistogram& latency);

}  // namespace spillway::app
