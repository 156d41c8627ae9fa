#include "adapters/redis_settings.h"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/stream.h"
#include "resilience/checker.h"
#include "resilience/hedge.h"
#include "resilience/limiter.h"
#include "resilience/problem.h"
#include "resilience/settings.h"

namespace spillway::adapters {

namespace {

using resilience::Problem;

void check_address(const std::string& key, std::string_view text, std::vector<Problem>& problems) {
  std::string host;
  std::string port;
  uint32_t number = 0;
  const bool split = net::split_address(text, host, port);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!split || host.empty() || error != std::errc{} || end != port.data() + port.size() ||
      number == 0 || number > 65'535) {
    problems.push_back({.key = key, .what = "\"" + std::string(text) + "\" is no host:port"});
  }
}

void check_addresses(const std::string& key, const std::vector<std::string>& addresses,
                     std::vector<Problem>& problems) {
  constexpr size_t kMost = 8;
  for (const std::string& address : addresses) {
    check_address(key, address, problems);
  }
  if (addresses.size() > kMost) {
    problems.push_back({.key = key, .what = "more than 8 addresses"});
  }
}

}  // namespace

std::vector<Problem> validate(const RedisSettings& settings) {
  resilience::Checker check;
  using namespace std::chrono_literals;
  check.within("database", settings.database, 0, 1'000'000);
  check.within("connect_timeout", settings.connect_timeout, 10ms, 30s);
  check.within("stall_after", settings.stall_after, 50ms, 60s);
  check.within("reconnect_min", settings.reconnect_min, 10ms, 60s);
  check.within("reconnect_max", settings.reconnect_max, settings.reconnect_min, 60s);
  check.within("refresh", settings.refresh, 100ms, 1h);
  check.within("max_commands", settings.max_commands, 16, 1'000'000);
  check.within("max_bytes", settings.max_bytes, uint64_t{1} << 10, uint64_t{1} << 30);
  check.within("max_reply_bytes", settings.max_reply_bytes, uint64_t{1} << 10, uint64_t{1} << 30);
  std::vector<Problem> problems = check.take();
  if (settings.sentinels.empty()) {
    check_address("primary", settings.primary, problems);
    check_addresses("replicas", settings.replicas, problems);
  } else {
    check_addresses("sentinels", settings.sentinels, problems);
    if (settings.sentinel_name.empty()) {
      problems.push_back({.key = "sentinel_name", .what = "sentinels watch it by a name"});
    }
    if (!settings.primary.empty() || !settings.replicas.empty()) {
      problems.push_back({.key = "primary", .what = "sentinels say where it is: leave it out"});
    }
  }
  for (Problem& problem : validate(settings.hedge)) {
    problems.push_back({.key = "hedge." + problem.key, .what = std::move(problem.what)});
  }
  return problems;
}

resilience::Settings redis_guard_settings() {
  using namespace std::chrono_literals;
  resilience::Settings settings;
  settings.open_min = 2s;
  settings.open_max = 10s;
  settings.ramp = 10s;
  settings.slow_floor = 5ms;
  settings.slow_ceiling = 50ms;
  settings.enough = 5ms;
  settings.max_in_flight = 8192;
  settings.limiter = resilience::LimiterSettings::Algorithm::kNone;
  return settings;
}

}  // namespace spillway::adapters
