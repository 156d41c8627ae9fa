#pragma once

#include <vector>

#include "app/bidder/redis_stores.h"
#include "observe/metrics_page.h"

namespace spillway::app::bidding {

/// Calls, hedges, connections, reads and writes of all workers; nothing without Redis.
void write_redis(const std::vector<const RedisStores*>& stores, observe::MetricsPage& page);

}  // namespace spillway::app::bidding
