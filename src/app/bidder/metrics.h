#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/bidder/deployment.h"
#include "app/bidder/redis_stores.h"
#include "app/bidder/spend_file.h"
#include "app/bidder/worker.h"
#include "bidder/scoring/model_set.h"
#include "net/server.h"
#include "resilience/guard.h"

namespace spillway::app::bidding {

/// What a page is made of.
struct MetricSources {
  const std::vector<std::unique_ptr<Worker>>& workers;
  const net::Server& server;
  const Shared& shared;
  const resilience::Registry& registry;
  const std::vector<const RedisStores*>& redis;  ///< One a worker, or none.
  const LoadedCatalog* catalog = nullptr;        ///< Null: none yet.
  double catalog_age_s = -1;
  uint64_t catalog_loads = 0;
  uint64_t catalog_unchanged = 0;
  uint64_t catalog_failures = 0;
  uint64_t campaigns_without_account = 0;
  const bidder::ModelReload::Counts& models;
  const SpendFile* spend = nullptr;  ///< Null: spend is not kept.
  uint64_t log_dropped = 0;
  uint64_t reloads = 0;
  uint64_t reloads_refused = 0;
};

/// The body of GET /metrics; docs/metrics.md has every name.
[[nodiscard]] std::string metrics_text(const MetricSources& sources);

}  // namespace spillway::app::bidding
