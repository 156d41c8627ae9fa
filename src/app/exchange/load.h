#pragma once

#include <memory>
#include <vector>

#include "app/config/server_config.h"
#include "app/exchange/worker.h"
#include "base/recent_quantile.h"
#include "base/time.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::app {

/// What GET /load says of an exchange: bids, house ads and no-bids in time are successes; out of
/// time is a failure; shed and invalid requests are neither.
[[nodiscard]] observe::Load load_of(const std::vector<std::unique_ptr<Worker>>& workers,
                                    const net::Server& server, const Shedding& shedding);

/// p95 of the times of answers that came lately, for observe::Load::p95. Cost: a pass over each
/// worker's histogram, some microseconds.
[[nodiscard]] base::Duration recent_p95(const std::vector<std::unique_ptr<Worker>>& workers,
                                        base::Instant now, base::RecentQuantile& recent);

}  // namespace spillway::app
