#pragma once

#include <cstddef>
#include <cstdint>

#include "app/exchange/metrics.h"

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
  uint64_t total = 0;
  for (size_t i = 0; i < sources.server.workers(); ++i) {
    total += pick(sources.server.counters(i)).value();
  }
  return total;
}

}  // namespace spillway::app
