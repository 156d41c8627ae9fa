#include "app/bidder/redis_section.h"

#include <optional>

#include "adapters/redis_caps.h"
#include "adapters/redis_settings.h"
#include "app/bidder/redis_stores.h"
#include "app/config/reader.h"
#include "app/stores/redis_section.h"
#include "resilience/problem.h"

namespace spillway::app::bidding {
namespace {

using namespace std::chrono_literals;

void read_server(ConfigReader& reader, adapters::RedisSettings& out) {
  read_redis_place(reader, out);
  reader.read("replicas", out.replicas);
  reader.read("connect_timeout", out.connect_timeout, 10ms, 30s);
  reader.read("stall_after", out.stall_after, 50ms, 60s);
  reader.read("reconnect_min", out.reconnect_min, 10ms, 60s);
  reader.read("reconnect_max", out.reconnect_max, 10ms, 60s);
  reader.read("refresh", out.refresh, 100ms, 1h);
  reader.read("max_commands", out.max_commands, 1, 1'000'000);
  reader.read("hedging", out.hedge.enabled);
  reader.read("hedge_floor", out.hedge.floor, 100us, 10s);
  reader.read("hedge_ratio", out.hedge.budget.share, 0.0, 1.0);
}

void read_wins(ConfigReader& reader, adapters::RedisCapsSettings& out) {
  reader.read("win_dedup", out.dedup, 1min, 720h);
  reader.read("win_queue", out.max_wins, 1, 10'000'000);
  reader.read("win_give_up_after", out.give_up_after, 1s, 720h);
}

}  // namespace

void read_redis(ConfigReader& root, std::optional<RedisConfig>& out) {
  const bool there = root.has("redis");
  auto reader = root.section("redis");
  RedisConfig redis;
  read_server(reader, redis.server);
  reader.read("caps", redis.keeps_caps);
  reader.read("segments", redis.keeps_segments);
  read_wins(reader, redis.caps);
  if (there) {
    report_redis_problems(reader, redis.server);
    for (const auto& problem : validate(redis.caps)) {
      reader.problem("", problem.key + ": " + problem.what);
    }
    out = redis;
  }
  reader.finish();
}

}  // namespace spillway::app::bidding
