#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "adapters/sample_packet.h"
#include "base/counter.h"
#include "base/time.h"
#include "capacity/sample.h"
#include "net/reactor.h"
#include "resilience/guard.h"

namespace spillway::adapters {

struct RedisSamplesSettings {
  std::string service = "spillway";  ///< As in the registry.
  std::string zone;
  std::string key;  ///< What samples are signed with, shared by the fleet.
  base::Duration timeout = std::chrono::milliseconds(500);  ///< Of one write or read.
};

struct RedisSamplesCounters {
  base::Counter writes, reads;  ///< That succeeded.
  base::Counter failures;       ///< Calls that were refused or got no good answer.
  base::Counter received;       ///< Samples handed on.
  base::Counter pruned;         ///< Fields of servers not heard of for long, deleted.
  std::array<base::Counter, kPacketErrors> rejected;  ///< By PacketErrc.
};

/// Samples through Redis: the hash `spillway:{SERVICE}:samples:ZONE`, field = id, value = a signed
/// packet. Each server writes its own field and reads the hash once a period. While Redis is away
/// nothing is heard, samples grow old, and the law holds its weights; nothing here waits for it.
///
/// A server that has gone is deleted by whoever reads it 10 minutes later; the hash expires as
/// late.
///
/// One thread: the reactor's. Memory: RedisClient's and one reply.
class RedisSamples final : private RedisListener {
 public:
  static constexpr base::Duration kForget = std::chrono::minutes(10);

  using Take = std::move_only_function<void(capacity::Sample)>;
  using WallClock = std::function<int64_t()>;  ///< Milliseconds since the epoch.

  RedisSamples(net::Reactor& reactor, const RedisSettings& redis, RedisSamplesSettings settings,
               uint64_t seed, WallClock wall_clock, Take take);
  RedisSamples(const RedisSamples&) = delete;
  RedisSamples& operator=(const RedisSamples&) = delete;
  ~RedisSamples() = default;

  void start() { client_.start(); }

  /// Writes `sample` and asks for all. Once a period.
  void exchange(const capacity::Sample& sample);

  /// Takes this server's field out, for a server that stops.
  void leave(std::string_view id);

  [[nodiscard]] const RedisSamplesCounters& counters() const { return counters_; }

 private:
  enum class Tag : uint8_t { kWrite, kRead, kPrune };

  void ask(Tag tag, RedisUse use, std::span<const std::string_view> parts);
  void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) override;
  void on_samples(const RedisReply& reply);
  void prune(const std::vector<std::string>& ids);

  net::Reactor& reactor_;
  RedisSamplesSettings settings_;
  std::string hash_;
  SamplePackets packets_;
  WallClock wall_clock_;
  Take take_;
  RedisSamplesCounters counters_;
  std::vector<resilience::Transition> transitions_;
  resilience::Guard guard_;
  RedisClient client_;
};

}  // namespace spillway::adapters
