#include "app/bidder/redis_section.h"

#include <optional>
#include <string>
#include <vector>

#include "adapters/redis_caps.h"
#include "adapters/redis_settings.h"
#include "app/bidder/redis_stores.h"
#include "app/config/reader.h"
#include "net/tls.h"
#include "resilience/problem.h"

namespace spillway::app::bidding {
namespace {

using namespace std::chrono_literals;

void read_tls(ConfigReader reader, std::optional<net::TlsClientSettings>& out) {
  bool enabled = false;
  net::TlsClientSettings tls;
  reader.read("enabled", enabled);
  reader.read("host", tls.host);
  reader.read("ca_file", tls.ca_file);
  reader.read("cert_file", tls.certificate_file);
  reader.read("key_file", tls.key_file);
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    reader.problem("", "must have cert_file and key_file, or none of the two");
  }
  if (enabled) {
    out = tls;
  }
  reader.finish();
}

void read_server(ConfigReader& reader, adapters::RedisSettings& out) {
  reader.read("primary", out.primary);
  reader.read("replicas", out.replicas);
  reader.read("sentinels", out.sentinels);
  reader.read("sentinel_name", out.sentinel_name);
  reader.read("sentinel_password", out.sentinel_password);
  reader.read("user", out.user);
  reader.read("password", out.password);
  reader.read("database", out.database, 0, 1'000'000);
  read_tls(reader.section("tls"), out.tls);
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
    std::vector<resilience::Problem> problems = validate(redis.server);
    for (auto& problem : validate(redis.caps)) {
      problems.push_back(problem);
    }
    for (const auto& problem : problems) {
      reader.problem("", problem.key + ": " + problem.what);
    }
    out = redis;
  }
  reader.finish();
}

}  // namespace spillway::app::bidding
