#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/redis_reply.h"
#include "adapters/redis_server.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {

/// "host:port", brackets around an IPv6 address; empty when either is missing.
[[nodiscard]] std::string redis_address(std::string_view host, std::string_view port);

/// Of `SENTINEL get-master-addr-by-name`; none when the sentinel knows no such name.
[[nodiscard]] std::optional<std::string> parse_primary(const RedisReply& reply);

/// Of `SENTINEL replicas`: those that the sentinel holds to be up, 8 at most, sorted.
[[nodiscard]] std::vector<std::string> parse_replicas(const RedisReply& reply);

/// Keeps asking the sentinels, one after another until one answers, where the primary and its
/// replicas are: every `refresh`, and when told that something failed (four times a second at
/// most). Source: redis.io, "Guidelines for Redis clients with support for Redis Sentinel".
class RedisSentinels final : private RedisServer::Owner, private net::Timer {
 public:
  class Owner {
   public:
    virtual void on_topology(const std::string& primary,
                             const std::vector<std::string>& replicas) = 0;
    /// All of them were asked in vain.
    virtual void on_no_sentinel() = 0;

   protected:
    ~Owner() = default;
  };

  RedisSentinels(RedisParts& parts, Owner& owner);
  ~RedisSentinels();
  RedisSentinels(const RedisSentinels&) = delete;
  RedisSentinels& operator=(const RedisSentinels&) = delete;

  void start();

  /// Something failed: ask soon; a sentinel whose answer does not help is left for the next one.
  void ask_soon();

  /// No answer is known, or may be wrong, and none is under way.
  [[nodiscard]] bool failing() const {
    return failed_in_a_row_ >= parts_.settings.sentinels.size();
  }

 private:
  void on_timer(base::Instant now) override;
  void on_server_ready(RedisServer& server) override;
  void on_server_reply(RedisServer& server, uint64_t call, RedisReply reply) override;
  void on_server_down(RedisServer& server, RedisErrc why,
                      const std::vector<uint64_t>& calls) override;
  void ask();
  void next_sentinel();
  void ask_at(base::Instant at);

  RedisParts& parts_;
  Owner& owner_;
  size_t current_ = 0;  ///< Of settings.sentinels.
  std::unique_ptr<RedisServer> server_;
  bool asking_ = false;
  bool move_on_ = false;  ///< The present one is of no use; another when the timer fires.
  size_t failed_in_a_row_ = 0;
  uint32_t complaints_ = 0;  ///< Since the primary changed.
  base::Instant asked_at_{};
  std::string known_primary_;
};

}  // namespace spillway::adapters
