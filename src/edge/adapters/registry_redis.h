#pragma once

#include <cstdint>
#include <memory>

#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "net/reactor.h"

namespace spillway::adapters {

/// The members of a service in Redis, by Redis's own clock: the hash `spillway:{SERVICE}:members`
/// (id to JSON), the sorted set `:expiry` (id to the millisecond it ends) and the number `:index`,
/// each call one script. Needs a primary; its sections and fail-over are RedisClient's.
/// Source: redis.io commands EVAL, TIME, ZRANGEBYSCORE; docs/redis_keys.md.
[[nodiscard]] std::unique_ptr<Registry> redis_registry(net::Reactor& reactor,
                                                       const RedisSettings& redis,
                                                       RegistrySettings settings, uint64_t seed);

}  // namespace spillway::adapters
