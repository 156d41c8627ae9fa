#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_connection.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/timer_wheel.h"
#include "net/tls.h"
#include "resilience/guard.h"

namespace spillway::adapters {

/// What the servers and sentinels of one client share. One thread; outlives them.
struct RedisParts {
  net::Reactor& reactor;
  const RedisSettings& settings;
  RedisCounters& counters;
  base::Rng rng;
  std::shared_ptr<net::NameLookup> names;  ///< Never null.
  std::string last_error;                  ///< What a server said when it refused us.
};

/// The context for connections to `host`; null: plain, or `failed`.
[[nodiscard]] std::shared_ptr<net::TlsClient> redis_tls(const RedisSettings& settings,
                                                        const std::string& host, bool& failed);

/// Waits between attempts: min · 2^k up to max, times U[0.8, 1.2]; a success starts anew.
class RedisPatience {
 public:
  [[nodiscard]] base::Duration next(const RedisSettings& settings, base::Rng& rng);

  void reset() { failures_ = 0; }

  [[nodiscard]] bool failing() const { return failures_ > 0; }

 private:
  uint32_t failures_ = 0;
};

/// One address that is kept connected: resolved, connected, greeted, and all of it again after a
/// while when it fails. The same thread rule as RedisConnection's.
class RedisServer final : private RedisConnection::Owner, private net::Timer {
 public:
  class Owner {
   public:
    virtual void on_server_ready(RedisServer& server) = 0;
    virtual void on_server_reply(RedisServer& server, uint64_t call, RedisReply reply) = 0;
    /// An attempt failed, or the connection ended and owes `calls` their replies.
    virtual void on_server_down(RedisServer& server, RedisErrc why,
                                const std::vector<uint64_t>& calls) = 0;

   protected:
    ~Owner() = default;
  };

  RedisServer(RedisParts& parts, const std::string& address, RedisRole role, Owner& owner);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  void start();

  [[nodiscard]] const std::string& address() const { return address_; }

  [[nodiscard]] bool ready() const { return connection_ != nullptr && connection_->ready(); }

  /// An attempt is under way and may yet succeed.
  [[nodiscard]] bool connecting() const {
    return !begun_ || resolving_ || (connection_ != nullptr && !connection_->ready());
  }

  /// The last attempt failed, or its connection ended.
  [[nodiscard]] bool failing() const { return patience_.failing(); }

  [[nodiscard]] size_t outstanding() const {
    return connection_ != nullptr ? connection_->outstanding() : 0;
  }

  /// Of the connection there is now; a serial belongs to one generation.
  [[nodiscard]] uint32_t generation() const { return generation_; }

  [[nodiscard]] base::Result<uint64_t, RedisErrc> send(RedisCommand command, uint64_t call);
  [[nodiscard]] bool sent(uint32_t generation, uint64_t serial) const;
  void abandon(uint32_t generation, uint64_t serial, resilience::Tail tail);
  void flush();

  /// The connection is of no use any more, whatever its state.
  void reconnect(RedisErrc why);

 private:
  struct Mail;

  void on_ready(RedisConnection& connection) override;
  void on_reply(RedisConnection& connection, uint64_t call, RedisReply reply) override;
  void on_end(RedisConnection& connection, RedisErrc why, std::string_view text) override;
  void on_timer(base::Instant now) override;
  void resolve();
  void look_up();
  void resolved(const std::vector<net::SocketAddress>& addresses);
  void failed(RedisErrc why, const std::vector<uint64_t>& calls);

  RedisParts& parts_;
  std::string address_;
  std::string host_;
  uint16_t port_ = 0;
  RedisRole role_;
  Owner& owner_;
  std::shared_ptr<net::TlsClient> tls_;
  std::unique_ptr<RedisConnection> connection_;
  std::unique_ptr<RedisConnection> ended_;  ///< Freed when nothing of it runs any more.
  std::shared_ptr<Mail> mail_;
  RedisPatience patience_;
  uint32_t generation_ = 0;
  size_t next_address_ = 0;
  bool begun_ = false;  ///< The first attempt.
  bool resolving_ = false;
  bool tls_failed_ = false;
};

}  // namespace spillway::adapters
