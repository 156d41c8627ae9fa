#pragma once

#include <memory>
#include <vector>

#include "app/bidder/worker.h"
#include "app/config/server_config.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::app::bidding {

/// What GET /load says of a bidder: bids and no-bids for a reason are successes; out of time is a
/// failure; shed and invalid requests, and those whose caller left, are neither.
[[nodiscard]] observe::Load load_of(const std::vector<std::unique_ptr<Worker>>& workers,
                                    const net::Server& server, const Shedding& shedding);

}  // namespace spillway::app::bidding
