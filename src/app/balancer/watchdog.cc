#include "app/balancer/watchdog.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "adapters/haproxy_report.h"
#include "app/balancer/change.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

namespace {

/// How long weights from before a restart are kept for servers that are still to be added.
constexpr base::Duration kRecovery = std::chrono::minutes(1);

/// Its agent answered, well or badly.
bool speaks(const ServerPicture& server) {
  return server.stat.agent_status == "L7OK" || server.stat.agent_status == "L7STS";
}

}  // namespace

Watchdog::Watchdog(std::string backend, WatchdogSettings settings)
    : backend_(std::move(backend)), settings_(settings), drains_(settings.drain_after) {}

std::vector<Change> Watchdog::look(const Picture& picture, const ServerClasses& classes,
                                   base::Instant now) {
  restarted_ = pid_ != 0 && (picture.info.pid != pid_ || picture.info.uptime_s < uptime_s_);
  pid_ = picture.info.pid;
  uptime_s_ = picture.info.uptime_s;
  std::vector<Change> out;
  if (restarted_) {
    out = bring_back(picture, now);
  } else if (now >= lost_until_) {
    lost_.clear();
  }
  std::erase_if(servers_, [&](const auto& one) { return !picture.servers.contains(one.first); });
  drains_.keep_only(picture);
  const Look look{.picture = picture, .classes = classes, .now = now, .out = out};
  for (const auto& [name, server] : picture.servers) {
    Server& seen = servers_[name];
    if (settings_.enabled) {
      judge_agent(name, server, seen, look);
      judge_drain(name, server, look);
    }
    seen.weight = server.state.user_weight;
  }
  // A weight that is being pushed is the one to remember, not the one that is there.
  for (const Change& change : out) {
    if (change.kind == ChangeKind::kPush) {
      servers_[change.server].weight = lost_[change.server];
    }
  }
  return out;
}

std::vector<Change> Watchdog::bring_back(const Picture& picture, base::Instant now) {
  std::vector<Change> out;
  lost_.clear();
  lost_until_ = now + kRecovery;
  for (const auto& [name, seen] : servers_) {
    lost_[name] = seen.weight;
  }
  servers_.clear();
  for (const auto& [name, weight] : lost_) {
    const auto found = picture.servers.find(name);
    if (found == picture.servers.end()) {
      continue;
    }
    const auto& state = found->second.state;
    if (!speaks(found->second) && state.user_weight == state.initial_weight &&
        weight != state.user_weight) {
      out.push_back(weigh(ChangeKind::kPush, name, weight, "HAProxy was restarted"));
    }
  }
  return out;
}

void Watchdog::judge_agent(const std::string& name, const ServerPicture& server, Server& seen,
                           const Look& look) const {
  const bool silent = adapters::is_agent_silent(server.stat.agent_status);
  if (silent && !seen.silent) {
    seen.silent_since = look.now;
  }
  const bool came_back = !silent && seen.reset && speaks(server);
  seen.silent = silent;
  if (silent && !seen.reset && look.now - seen.silent_since >= settings_.dead_after &&
      !server.in_forced_maint()) {
    seen.reset = true;
    seen.before = server.state.user_weight;
    seen.given = neutral_weight(name, look.picture, look.classes);
    Change change = weigh(
        ChangeKind::kReset, name, seen.given,
        fmt::format("its agent is silent ({}); it had {}", server.stat.agent_status, seen.before));
    if (server.stat.status.contains("agent")) {
      change.commands.push_back(fmt::format("set server {}/{} agent up", backend_, name));
    }
    look.out.push_back(std::move(change));
  } else if (came_back && !seen.speaks) {
    seen.speaks = true;  // it has one more period to say a weight of its own
  } else if (came_back) {
    if (server.state.user_weight == seen.given && seen.given != seen.before) {
      look.out.push_back(weigh(ChangeKind::kRestore, name, seen.before, "its agent speaks again"));
    }
    seen = {};
  }
}

void Watchdog::judge_drain(const std::string& name, const ServerPicture& server, const Look& look) {
  const auto why = drains_.look(name, server, look.now);
  if (!why.empty()) {
    look.out.push_back({.kind = ChangeKind::kUndrain,
                        .server = name,
                        .why = std::string(why),
                        .commands = {fmt::format("set server {}/{} state ready", backend_, name)}});
  }
}

uint32_t Watchdog::neutral_weight(const std::string& name, const Picture& picture,
                                  const ServerClasses& classes) const {
  const uint32_t initial = picture.servers.find(name)->second.state.initial_weight;
  if (settings_.neutral == WatchdogSettings::Neutral::kInitial) {
    return initial;
  }
  const auto own = classes.find(name);
  uint64_t sum = 0;
  uint64_t count = 0;
  uint64_t sum_of_class = 0;
  uint64_t count_of_class = 0;
  for (const auto& [other, server] : picture.servers) {
    if (!speaks(server) || !server.is_up() || server.state.user_weight == 0) {
      continue;
    }
    sum += server.state.user_weight;
    ++count;
    const auto its = classes.find(other);
    if (own != classes.end() && its != classes.end() && its->second == own->second) {
      sum_of_class += server.state.user_weight;
      ++count_of_class;
    }
  }
  if (count_of_class > 0) {
    return static_cast<uint32_t>((sum_of_class + count_of_class / 2) / count_of_class);
  }
  return count > 0 ? static_cast<uint32_t>((sum + count / 2) / count) : initial;
}

Change Watchdog::weigh(ChangeKind kind, const std::string& server, uint32_t weight,
                       std::string why) const {
  return {.kind = kind,
          .server = server,
          .why = fmt::format("{}: weight {}", why, weight),
          .commands = {fmt::format("set server {}/{} weight {}", backend_, server, weight)}};
}

uint32_t Watchdog::dead() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(servers_, [](const auto& one) { return one.second.reset; }));
}

bool Watchdog::is_dead(std::string_view server) const {
  const auto found = servers_.find(server);
  return found != servers_.end() && found->second.reset;
}

}  // namespace spillway::app::balancing
