#pragma once

#include "adapters/redis_settings.h"
#include "app/config/reader.h"

namespace spillway::app {

/// The keys of a section `redis` that say where it is and who asks: primary, sentinels,
/// sentinel_name, sentinel_password, user, password, database, tls.*.
void read_redis_place(ConfigReader& reader, adapters::RedisSettings& out);

/// What is wrong with the settings as a whole.
void report_redis_problems(ConfigReader& reader, const adapters::RedisSettings& settings);

}  // namespace spillway::app
