#pragma once

#include "base/histogram.h"
#include "base/recent_quantile.h"
#include "base/time.h"

namespace spillway::app {

/// p95 of the times of answers that came lately, for observe::Load::p95, from all workers'
/// stats().answer_time. Cost: a pass over each worker's histogram, some microseconds.
template <typename Workers>
[[nodiscard]] base::Duration recent_p95(const Workers& workers, base::Instant now,
                                        base::RecentQuantile& recent) {
  constexpr double kP95 = 0.95;
  base::Histogram all;
  for (const auto& worker : workers) {
    all.merge(worker->stats().answer_time);
  }
  return recent.quantile(now, all, kP95);
}

}  // namespace spillway::app
