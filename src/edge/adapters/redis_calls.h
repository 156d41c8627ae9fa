#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_outcome.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_sentinel.h"
#include "adapters/redis_server.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/timer_wheel.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"
#include "resilience/outcome.h"

namespace spillway::adapters {

/// The calls of one RedisClient: from permit to outcome. redis_client.cc decides where a call goes
/// and begins it, redis_calls.cc ends it.
struct RedisClient::Body : RedisServer::Owner, RedisSentinels::Owner {
  /// One command in one connection.
  struct Place {
    RedisServer* server = nullptr;  ///< Null: none, or it is over.
    uint32_t generation = 0;
    uint64_t serial = 0;
  };

  struct Call final : net::Timer {
    explicit Call(Body& own) : body(own) {}

    void on_timer(base::Instant now) override { body.on_call_timer(*this, now); }

    Body& body;
    uint64_t id = 0;
    bool live = false;
    bool waiting = false;  ///< For a connection.
    RedisUse use = RedisUse::kPrimary;
    uint64_t tag = 0;
    RedisListener* listener = nullptr;
    base::Instant started{};
    base::Instant deadline{};
    base::Instant hedge_at = base::kNever;
    resilience::Permit permit;
    std::optional<resilience::HedgedCall> hedged;
    std::array<Place, 2> legs;  ///< By resilience::Leg.
    RedisCommand command;       ///< While it waits, or may be sent again.
  };

  Body(net::Reactor& own_reactor, RedisSettings own_settings, resilience::Guard& own_guard,
       uint32_t own_worker, uint64_t seed, std::shared_ptr<net::NameLookup> names);
  virtual ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // redis_client.cc
  base::Result<RedisTicket, RedisErrc> ask(RedisUse use, std::span<const std::string_view> parts,
                                           base::Instant deadline, uint64_t tag,
                                           RedisListener& listener);
  [[nodiscard]] RedisServer* pick(RedisUse use, const RedisServer* other_than = nullptr) const;
  [[nodiscard]] bool may_connect(RedisUse use) const;
  [[nodiscard]] bool begin(Call& call, RedisServer& server);
  [[nodiscard]] bool send_leg(Call& call, resilience::Leg leg, RedisServer& server,
                              RedisCommand command);
  void begin_waiting();
  void fail_waiting();
  void flush_soon();
  void run_deferred();
  Call& take_call();
  [[nodiscard]] Call* find(uint64_t id) const;
  base::Result<RedisTicket, RedisErrc> refuse(RedisErrc why);
  void on_topology(const std::string& primary_address,
                   const std::vector<std::string>& replica_addresses) override;
  void on_no_sentinel() override;
  std::unique_ptr<RedisServer> make_server(const std::string& address, RedisRole role);

  // redis_calls.cc
  void on_call_timer(Call& call, base::Instant now);
  void hedge(Call& call, base::Instant now);
  void on_server_ready(RedisServer& server) override;
  void on_server_reply(RedisServer& server, uint64_t leg_of_call, RedisReply reply) override;
  void on_server_down(RedisServer& server, RedisErrc why,
                      const std::vector<uint64_t>& owed) override;
  void on_leg(Call& call, resilience::Leg leg, const RedisEnd& end, RedisReply reply);
  [[nodiscard]] bool fails_to_connect(RedisUse use) const;
  void time_out(Call& call, base::Instant now);
  void settle(Call& call, resilience::Outcome outcome, const RedisResult& result, RedisReply reply);
  void drop(Call& call, RedisErrc why);
  void note_sent(Call& call);
  void release(Call& call, resilience::Tail tail);
  void count_hedges();

  net::Reactor& reactor;
  const RedisSettings settings;
  RedisCounters counters;
  resilience::Guard& guard;
  const uint32_t worker;
  RedisParts parts;
  resilience::Hedger hedger;
  std::unique_ptr<RedisSentinels> sentinels;
  std::unique_ptr<RedisServer> primary;
  std::vector<std::unique_ptr<RedisServer>> replicas;
  std::vector<std::unique_ptr<RedisServer>> retired;  ///< Freed from the deferred run.
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<uint32_t> free_calls;
  std::vector<uint64_t> waiting;
  std::vector<uint64_t> doomed;  ///< Refused after they got their ticket.
  std::shared_ptr<Body*> self;
  size_t turn = 0;
  uint64_t asked = 0;
  uint8_t shed_level = 0;
  bool flushing = false;
};

}  // namespace spillway::adapters
