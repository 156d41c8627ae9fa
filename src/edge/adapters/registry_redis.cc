#include "adapters/registry_redis.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "adapters/registry.h"
#include "base/time.h"
#include "net/reactor.h"
#include "resilience/guard.h"

namespace spillway::adapters {

namespace {

// KEYS: members, expiry, index. Each script is whole: a crash between two of its steps cannot be.
constexpr std::string_view kRenew = R"(local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local was = redis.call('HGET', KEYS[1], ARGV[1])
local ends = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
if was ~= ARGV[2] then redis.call('INCR', KEYS[3]) end
if was and ends > now then return 1 end
return 0)";

constexpr std::string_view kWithdraw = R"(redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then redis.call('INCR', KEYS[3]) end
return 1)";

// The expired go first, 1 000 a read at most, so that nobody else has to sweep.
constexpr std::string_view kRead = R"(local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local dead = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)
for _, id in ipairs(dead) do
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[1], id)
end
if #dead > 0 then redis.call('INCR', KEYS[3]) end
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[1]) then return {-1} end
return {tonumber(redis.call('GET', KEYS[3]) or 0), redis.call('HVALS', KEYS[1])})";

RegistryErrc error_of(RedisErrc error) {
  switch (error) {
    case RedisErrc::kCircuitOpen:
    case RedisErrc::kBusy:
      return RegistryErrc::kBusy;
    case RedisErrc::kTooLate:
    case RedisErrc::kTimeout:
      return RegistryErrc::kTimeout;
    case RedisErrc::kProtocol:
      return RegistryErrc::kMalformed;
    case RedisErrc::kErrorReply:
      return RegistryErrc::kStatus;
    case RedisErrc::kRefused:
    case RedisErrc::kLost:
    case RedisErrc::kTls:
    case RedisErrc::kCancelled:
      break;
  }
  return RegistryErrc::kUnreachable;
}

class RedisRegistry final : public Registry, private RedisListener {
 public:
  RedisRegistry(net::Reactor& reactor, const RedisSettings& redis, RegistrySettings settings,
                uint64_t seed)
      : Registry(reactor, std::move(settings)),
        guard_("redis/registry/all", redis_guard_settings(), 1, seed, reactor.refresh()),
        client_(reactor, redis, guard_, 0, seed) {
    // A few calls a second need no breaker; one that is open would only make the way back longer.
    std::vector<resilience::Transition> changed;
    guard_.set_mode(reactor.now(), resilience::Mode::kDisabled, base::kNever, "registry", changed);
    for (size_t i = 0; i < keys_.size(); ++i) {
      constexpr std::array<std::string_view, 3> kNames{":members", ":expiry", ":index"};
      keys_[i] = "spillway:{" + settings_.service + "}" + std::string(kNames[i]);
    }
    client_.start();
  }

  [[nodiscard]] std::string_view kind() const override { return "redis"; }

 private:
  enum Tag : uint8_t { kTagFirst, kTagRenew, kTagWithdraw, kTagRead };

  void begin_renew(const RegistryInstance& instance, bool first) override {
    const auto ttl_ms = std::chrono::ceil<std::chrono::milliseconds>(settings_.ttl).count();
    ask(kRenew, first ? kTagFirst : kTagRenew,
        {instance.id, to_json(instance), std::to_string(ttl_ms)});
  }

  void begin_withdraw(const RegistryInstance& instance) override {
    ask(kWithdraw, kTagWithdraw, {instance.id});
  }

  void begin_read(bool /*at_once*/) override {
    ask(kRead, kTagRead, {std::to_string(kMaxInstances)});
  }

  void ask(std::string_view script, Tag tag, const std::vector<std::string>& arguments) {
    std::vector<std::string_view> parts{"EVAL", script, "3", keys_[0], keys_[1], keys_[2]};
    parts.insert(parts.end(), arguments.begin(), arguments.end());
    const auto ticket = client_.ask(RedisUse::kPrimary, parts, deadline(), tag, *this);
    if (!ticket) {
      fail(tag, ticket.error(), {});
    }
  }

  void fail(uint64_t tag, RedisErrc error, std::string_view said) {
    std::string what = "redis: " + std::string(to_string(error));
    what += said.empty() ? "" : " (" + std::string(said) + ")";
    if (tag == kTagRead) {
      on_read_failed(error_of(error), std::move(what));
    } else {
      on_renew_failed(error_of(error), std::move(what));
    }
  }

  void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) override {
    if (!result) {
      const auto said =
          result.error() == RedisErrc::kErrorReply ? reply.text() : client_.last_error();
      fail(tag, result.error(), said);
      return;
    }
    switch (tag) {
      case kTagFirst:
      case kTagRenew:
        on_renewed(tag == kTagRenew && reply.integer() == 0);
        return;
      case kTagWithdraw:
        on_withdrawn();
        return;
      default:
        take_members(reply);
        return;
    }
  }

  void take_members(RedisReply reply) {
    const int64_t index = reply.size() > 0 ? reply[0].integer() : 0;
    if (index < 0) {
      on_read_failed(RegistryErrc::kTooLarge, "redis: more members than a backend can hold");
      return;
    }
    if (reply.size() != 2 || reply[1].type() != RedisType::kArray) {
      on_read_failed(RegistryErrc::kMalformed, "redis: no list of members");
      return;
    }
    std::vector<RegistryInstance> instances;
    reply[1].for_each([&](const RedisReply& value) {
      instances.push_back(
          instance_from_json(value.text()).value_or(RegistryInstance{.id = {}}));  // left out
    });
    const auto mark = static_cast<uint64_t>(index);
    if (mark < view().index) {
      counters_.index_resets.add();
    }
    on_read(std::move(instances), mark, settings_.poll);
  }

  std::array<std::string, 3> keys_;
  resilience::Guard guard_;
  RedisClient client_;
};

}  // namespace

std::unique_ptr<Registry> redis_registry(net::Reactor& reactor, const RedisSettings& redis,
                                         RegistrySettings settings, uint64_t seed) {
  return std::make_unique<RedisRegistry>(reactor, redis, std::move(settings), seed);
}

}  // namespace spillway::adapters
