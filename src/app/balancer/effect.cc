#include "app/balancer/effect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/haproxy_report.h"
#include "app/balancer/picture.h"
#include "base/time.h"

namespace spillway::app::balancing {

namespace {

/// The weight that the algorithm deals by: none unless the server takes new traffic.
double dealt_by(const ServerPicture& server) {
  return server.is_up() ? static_cast<double>(server.stat.weight) : 0;
}

}  // namespace

std::string_view to_string(EffectCause cause) {
  static constexpr std::array<std::string_view, kEffectCauses> kNames{
      "none", "pinned_connections", "algorithm", "agent_missed", "slow_start", "unknown"};
  return kNames.at(static_cast<size_t>(cause));
}

void Effect::begin(const Picture& picture, base::Instant now) {
  servers_.clear();
  pid_ = picture.info.pid;
  begun_ = now;
  sessions_ = 0;
  silent_ = throttled_ = false;
  for (const auto& [name, server] : picture.servers) {
    servers_[name] = {.picked_before = server.stat.picked, .weight_before = dealt_by(server)};
  }
}

std::optional<EffectReport> Effect::add(const Picture& picture, bool differs, base::Instant now) {
  if (picture.info.pid != pid_) {
    begin(picture, now);
    return std::nullopt;
  }
  // Weights of the time between the two pictures: the mean of both ends.
  double weights = 0;
  uint64_t picked = 0;
  for (const auto& [name, server] : picture.servers) {
    const auto found = servers_.find(name);
    const double before = found == servers_.end() ? 0 : found->second.weight_before;
    weights += (before + dealt_by(server)) / 2;
    const uint64_t seen = found == servers_.end() ? 0 : found->second.picked_before;
    picked += server.stat.picked - std::min(seen, server.stat.picked);
    silent_ = silent_ || (server.is_up() && adapters::is_agent_silent(server.stat.agent_status));
    constexpr uint32_t kWhole = 100;
    throttled_ = throttled_ || (server.is_up() && server.stat.throttle_percent < kWhole);
  }
  for (const auto& [name, server] : picture.servers) {
    Server& mine = servers_[name];
    const double weight = (mine.weight_before + dealt_by(server)) / 2;
    mine.expected += weights > 0 ? static_cast<double>(picked) * weight / weights : 0;
    mine.picked += server.stat.picked - std::min(mine.picked_before, server.stat.picked);
    mine.sessions += static_cast<double>(server.stat.sessions);
    sessions_ += static_cast<double>(server.stat.sessions);
    mine.picked_before = server.stat.picked;
    mine.weight_before = dealt_by(server);
  }
  if (now - begun_ < settings_.window) {
    return std::nullopt;
  }
  EffectReport report = this->report(picture, differs);
  begin(picture, now);
  if (report.picked < settings_.least_requests && report.cause != EffectCause::kPinned) {
    return std::nullopt;
  }
  return report;
}

EffectReport Effect::report(const Picture& picture, bool differs) const {
  EffectReport out;
  double expected = 0;
  for (const auto& [name, server] : servers_) {
    out.picked += server.picked;
    expected += server.expected;
  }
  double weights = 0;
  for (const auto& [name, server] : servers_) {
    weights += server.weight_before;
  }
  const bool tcp = picture.mode == "tcp";
  for (const auto& [name, server] : servers_) {
    ServerEffect effect{.picked = server.picked};
    if (out.picked > 0) {
      effect.expected = server.expected / expected;
      effect.received = static_cast<double>(server.picked) / static_cast<double>(out.picked);
    } else {
      effect.expected = effect.received = weights > 0 ? server.weight_before / weights : 0;
    }
    effect.held = sessions_ > 0 ? server.sessions / sessions_ : effect.expected;
    const double off = std::max(std::abs(effect.received - effect.expected),
                                tcp ? std::abs(effect.held - effect.expected) : 0);
    if (off > out.worst) {
      out.worst = off;
      out.worst_server = name;
    }
    out.servers.emplace(name, effect);
  }
  if (out.worst > settings_.tolerance_ratio) {
    out.cause = cause_of(picture, differs);
  }
  return out;
}

EffectCause Effect::cause_of(const Picture& picture, bool differs) const {
  if (picture.algorithm != "roundrobin" && picture.algorithm != "static-rr") {
    return EffectCause::kAlgorithm;
  }
  if (picture.mode == "tcp") {
    return EffectCause::kPinned;
  }
  if (silent_ || differs) {
    return EffectCause::kAgentMissed;
  }
  return throttled_ ? EffectCause::kSlowStart : EffectCause::kUnknown;
}

}  // namespace spillway::app::balancing
