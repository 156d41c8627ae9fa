#pragma once

#include <optional>

#include "app/bidder/redis_stores.h"
#include "app/config/reader.h"

namespace spillway::app::bidding {

/// The section `redis`; nothing when it is not there.
void read_redis(ConfigReader& root, std::optional<RedisConfig>& out);

}  // namespace spillway::app::bidding
