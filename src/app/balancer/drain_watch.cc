#include "app/balancer/drain_watch.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/haproxy_report.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

namespace {

/// Looks in a row at which an agent must say "up": it may be about to say "ready".
constexpr uint32_t kPatience = 5;

/// "up", "down" and their like.
bool names_health(const ServerPicture& server) {
  return server.stat.agent_status == "L7OK" || server.stat.agent_status == "L7STS";
}

bool is_drained(const ServerPicture& server) {
  return (server.state.admin & adapters::kForcedDrain) != 0;
}

/// By its health check; one without is thought healthy.
bool is_healthy(const ServerPicture& server) {
  return server.stat.check_status.empty() || server.stat.check_status.contains("OK");
}

}  // namespace

std::string_view DrainWatch::look(std::string_view name, const ServerPicture& server,
                                  base::Instant now) {
  Server& seen = servers_.try_emplace(std::string(name)).first->second;
  const bool silent = adapters::is_agent_silent(server.stat.agent_status);
  const bool named_before = std::exchange(seen.named_health, names_health(server));
  if (!is_drained(server)) {
    const bool named = seen.named_health || (silent && named_before);
    seen = {};
    seen.named_health = named;
    return {};
  }
  const bool begins = !std::exchange(seen.drained, true);
  seen.of_agent = seen.of_agent || (begins && named_before && !silent && !seen.named_health);
  if (!seen.of_agent || server.in_forced_maint()) {
    return {};
  }
  if (silent && !seen.silent) {
    seen.silent_since = now;
  }
  seen.silent = silent;
  seen.was_down = seen.was_down || !is_healthy(server);
  seen.says_up = server.stat.agent_status == "L7OK" ? seen.says_up + 1 : 0;
  if (seen.says_up >= kPatience) {
    return "its agent ordered the drain and says up again";
  }
  if (seen.was_down && silent && is_healthy(server)) {
    return "its agent ordered the drain and is gone, and the server was down and is healthy again";
  }
  const bool over =
      stale_after_ > base::Duration::zero() && now - seen.silent_since >= stale_after_;
  return silent && over && is_healthy(server)
             ? "its agent ordered the drain and is gone, and the server goes on"
             : std::string_view();
}

void DrainWatch::keep_only(const Picture& picture) {
  std::erase_if(servers_, [&](const auto& one) { return !picture.servers.contains(one.first); });
}

bool DrainWatch::is_of_agent(std::string_view name) const {
  const auto found = servers_.find(name);
  return found != servers_.end() && found->second.of_agent;
}

}  // namespace spillway::app::balancing
