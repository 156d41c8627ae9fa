#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "capacity/law_settings.h"
#include "capacity/sample.h"

namespace spillway::capacity {

/// How evenly a fleet was, or would be, used.
struct Evenness {
  double spread_10s = 0;      ///< Median over windows of max − min of 10 s means, in points.
  double spread_10s_p95 = 0;  ///< The 95th percentile of the same.
  double spread_60s = 0;
  double spread_60s_p95 = 0;
  double mean_utilization = 0;
  /// The 95th percentile over windows of the fullest server's 60 s mean. Predicted, it rises above
  /// 1 where a server would get more than it can.
  double fullest = 0;
  double lost_share = 0;  ///< Predicted only: of all requests, beyond what servers can.
  /// As many servers of the fleet's kind as keep the fullest one at the target.
  double instances_needed = 0;
};

/// One window of the fleet's utilization, for a plot: least, mean and most, 0 to 1 and above.
struct Band {
  base::Instant at{};
  double least = 0;
  double mean = 0;
  double most = 0;
};

struct Forecast {
  size_t servers = 0;
  size_t zones = 0;
  base::Duration length{};
  double instances = 0;  ///< Mean number of servers that took traffic.
  Evenness observed;
  Evenness predicted;
  std::vector<Band> observed_bands;  ///< 10 s means of all zones; a band is within a zone's.
  std::vector<Band> predicted_bands;
  uint64_t steps = 0;           ///< Decisions taken again.
  uint64_t lines_left_out = 0;  ///< Implausible, out of order, or of more servers than fit.
};

struct ForecastSettings {
  LawSettings law;
  double target = 0.65;  ///< Utilization wanted of the fullest server. [0.05, 0.95].
  base::Duration publish_delay = std::chrono::milliseconds(500);
  size_t max_servers = 1024;
};

/// What a law would have done with a recorded load: at every period each zone's recorded demand is
/// split by the law's weights, and each server is as full as its recorded successes a unit of CPU
/// say. Recorded lines are in the order of time. What it cannot know: how a machine's cost a
/// request changes with its load, and what callers would have retried.
///
/// Cost: (length / period) · servers² / 100 us or so. Memory: 16 bytes a server and period.
[[nodiscard]] Forecast forecast(std::span<const Sample> recorded, const ForecastSettings& settings);

}  // namespace spillway::capacity
