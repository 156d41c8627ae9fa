#pragma once

#include <string>

#include "app/load/generator.h"
#include "base/histogram.h"

namespace spillway::app {

/// Above this share of late and dropped arrivals a run has failed, whatever its latencies.
inline constexpr double kMissedRatioMax = 0.01;

/// "" when the run may be believed, else one sentence: the generator did not keep its schedule.
[[nodiscard]] std::string failure_of(const Generator& generator);

/// One line of JSON: what was not sent first, then endings, statuses, answers, percentiles.
[[nodiscard]] std::string report_json(const Generator& generator);

/// The same for people.
[[nodiscard]] std::string report_text(const Generator& generator);

/// One line of progress: a bar, the rate achieved, the p99 so far.
[[nodiscard]] std::string progress_line(const Generator& generator);

/// {"p50":1.2,"p90":…,"p95":…,"p99":…,"p999":…,"max":…} in milliseconds.
[[nodiscard]] std::string percentiles_json(const base::Histogram& latency);

}  // namespace spillway::app
