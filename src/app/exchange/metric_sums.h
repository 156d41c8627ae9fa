#pragma once

#include <cstdint>

#include "app/exchange/metrics.h"
#include "app/serving/server_metrics.h"

namespace spillway::app {

/// The sum over workers of one counter.
template <typename Pick>
uint64_t sum(const MetricSources& sources, Pick pick) {
  uint64_t total = 0;
  for (const auto& worker : sources.workers) {
    total += pick(worker->stats()).value();
  }
  return total;
}

/// The same of the callers' side of a worker.
template <typename Pick>
uint64_t server_sum(const MetricSources& sources, Pick pick) {
  return sum_of(sources.server, pick);
}

}  // namespace spillway::app
