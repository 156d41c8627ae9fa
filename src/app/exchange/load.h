#pragma once

#include <memory>
#include <vector>

#include "app/config/server_config.h"
#include "app/exchange/worker.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::app {

/// What GET /load says of an exchange: bids, house ads and no-bids in time are successes; out of
/// time is a failure; shed and invalid requests are neither.
[[nodiscard]] observe::Load load_of(const std::vector<std::unique_ptr<Worker>>& workers,
                                    const net::Server& server, const Shedding& shedding);

}  // namespace spillway::app
