#include "adapters/redis_sentinel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_connection.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_server.h"
#include "base/time.h"

namespace spillway::adapters {

namespace {

constexpr size_t kMostReplicas = 8;
constexpr base::Duration kAtMostEvery = std::chrono::milliseconds(250);
constexpr uint32_t kPatience = 4;
constexpr uint64_t kPrimary = 1;
constexpr uint64_t kReplicas = 2;

}  // namespace

std::string redis_address(std::string_view host, std::string_view port) {
  if (host.empty() || port.empty()) {
    return {};
  }
  std::string address;
  if (host.contains(':')) {
    address.append("[").append(host).append("]");
  } else {
    address = host;
  }
  return address.append(":").append(port);
}

std::optional<std::string> parse_primary(const RedisReply& reply) {
  std::string address = redis_address(reply[0].text(), reply[1].text());
  return address.empty() ? std::nullopt : std::optional(std::move(address));
}

std::vector<std::string> parse_replicas(const RedisReply& reply) {
  std::vector<std::string> found;
  reply.for_each([&](const RedisReply& replica) {
    std::string_view host;
    std::string_view port;
    bool up = true;
    std::string_view key;
    replica.for_each([&](const RedisReply& part) {
      if (key.empty()) {
        key = part.text();
        return;
      }
      const std::string_view value = part.text();
      if (key == "ip") {
        host = value;
      } else if (key == "port") {
        port = value;
      } else if (key == "flags") {
        up = !value.contains("down") && !value.contains("disconnected");
      }
      key = {};
    });
    if (std::string address = redis_address(host, port); up && !address.empty()) {
      found.push_back(std::move(address));
    }
  });
  std::ranges::sort(found);
  found.resize(std::min(found.size(), kMostReplicas));
  return found;
}

RedisSentinels::RedisSentinels(RedisParts& parts, Owner& owner) : parts_(parts), owner_(owner) {
  // Workers and processes begin with different ones.
  current_ = parts.rng.below(std::max<size_t>(1, parts.settings.sentinels.size()));
}

RedisSentinels::~RedisSentinels() = default;

void RedisSentinels::start() {
  move_on_ = false;
  RedisServer::Owner& owner = *this;
  server_ = std::make_unique<RedisServer>(parts_, parts_.settings.sentinels[current_],
                                          RedisRole::kSentinel, owner);
  server_->start();
}

void RedisSentinels::ask_at(base::Instant at) {
  if (!armed() || due() > at) {
    parts_.reactor.timers().arm(*this, at);
  }
}

void RedisSentinels::ask_soon() {
  if (asking_) {
    return;
  }
  ++complaints_;
  // It may be cut off from the others, and not know of a fail-over.
  move_on_ = move_on_ || (complaints_ % kPatience == 0 && parts_.settings.sentinels.size() > 1);
  ask_at(std::max(parts_.reactor.now(), asked_at_ + kAtMostEvery));
}

void RedisSentinels::on_timer(base::Instant now) {
  if (asking_ && now - asked_at_ >= parts_.settings.connect_timeout) {
    next_sentinel();  // Connected, and silent.
    return;
  }
  if (move_on_) {
    current_ = (current_ + 1) % parts_.settings.sentinels.size();
    start();
  } else if (server_ != nullptr && server_->ready() && !asking_) {
    ask();
  }
}

void RedisSentinels::ask() {
  parts_.counters.sentinel_asks.add();
  const std::string& name = parts_.settings.sentinel_name;
  const std::array<std::string_view, 3> primary{"SENTINEL", "get-master-addr-by-name", name};
  const std::array<std::string_view, 3> replicas{"SENTINEL", "replicas", name};
  asked_at_ = parts_.reactor.now();
  asking_ = true;
  if (!server_->send(RedisCommand(primary), kPrimary) ||
      !server_->send(RedisCommand(replicas), kReplicas)) {
    next_sentinel();
    return;
  }
  server_->flush();
  if (asking_) {
    ask_at(asked_at_ + parts_.settings.connect_timeout);
  }
}

void RedisSentinels::on_server_ready(RedisServer& /*server*/) { ask(); }

void RedisSentinels::on_server_reply(RedisServer& /*server*/, uint64_t call, RedisReply reply) {
  if (!asking_) {
    return;
  }
  if (call == kPrimary) {
    const std::optional<std::string> primary = parse_primary(reply);
    if (!primary) {
      next_sentinel();  // It does not know the name.
      return;
    }
    complaints_ = *primary == known_primary_ ? complaints_ : 0;
    known_primary_ = *primary;
    return;
  }
  asking_ = false;
  failed_in_a_row_ = 0;
  cancel();
  ask_at(parts_.reactor.now() + parts_.settings.refresh);
  owner_.on_topology(known_primary_, parse_replicas(reply));
}

void RedisSentinels::on_server_down(RedisServer& /*server*/, RedisErrc /*why*/,
                                    const std::vector<uint64_t>& /*calls*/) {
  next_sentinel();
}

/// The present one is left when the timer fires: this runs inside its callbacks.
void RedisSentinels::next_sentinel() {
  parts_.counters.sentinel_failures.add();
  asking_ = false;
  move_on_ = true;
  ++failed_in_a_row_;
  const bool all_failed = failing();
  cancel();
  ask_at(parts_.reactor.now() + (all_failed ? kAtMostEvery : base::Duration::zero()));
  if (all_failed) {
    owner_.on_no_sentinel();
  }
}

}  // namespace spillway::adapters
