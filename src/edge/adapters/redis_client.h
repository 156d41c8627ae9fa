#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "base/counter.h"
#include "base/histogram.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "resilience/guard.h"
#include "resilience/hedge.h"

namespace spillway::adapters {

/// Who may answer.
enum class RedisUse : uint8_t {
  kPrimary,  ///< Writes, and reads that must see them.
  kRead,     ///< Any replica, else the primary; asked a second time when the first is slow.
};

/// Why there is no answer.
enum class RedisErrc : uint8_t {
  kCircuitOpen,  ///< Refused by the guard, at once.
  kBusy,         ///< Too many calls under way (limiter) or waiting (max_commands, max_bytes).
  kTooLate,      ///< No time left, or less than it usually takes.
  kTimeout,      ///< No answer by the deadline.
  kRefused,      ///< No connection to be had: refused, no address, wrong role.
  kLost,         ///< The connection ended before the answer.
  kTls,
  kProtocol,    ///< No RESP, or too large.
  kErrorReply,  ///< The server says so: the reply is its error text.
  kCancelled,
};
inline constexpr size_t kRedisErrors = 10;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(RedisErrc error);

using RedisTicket = uint64_t;

using RedisResult = base::Result<RedisReply, RedisErrc>;

class RedisListener {
 public:
  /// Once for every ask() that gave a ticket, on the reactor's thread, never inside ask().
  /// `reply` is also set with kErrorReply. May ask again; may not destroy the client.
  virtual void on_redis(uint64_t tag, const RedisResult& result, RedisReply reply) = 0;

 protected:
  ~RedisListener() = default;
};

/// Single writer: the client's thread.
struct RedisCounters {
  base::Counter calls;  ///< That got a ticket.
  base::Counter answered;
  std::array<base::Counter, kRedisErrors> failed;  ///< By RedisErrc, refusals among them.
  base::Counter late_replies;                      ///< Came after their call had ended; dropped.
  base::Counter connects;
  base::Counter connect_failures;
  base::Counter disconnects;
  base::Counter stalls;      ///< Connections given up for silence.
  base::Counter read_only;   ///< READONLY replies: the primary had become a replica.
  base::Counter fail_overs;  ///< The primary is another one than before.
  base::Counter sentinel_asks;
  base::Counter sentinel_failures;
  base::Counter hedges_fired;
  base::Counter hedges_won;
  base::Counter hedges_unsent;  ///< Decided and never sent: their token went back.
  std::array<base::Counter, resilience::kHedgeBlocks> hedges_blocked;
  base::Counter connections;  ///< Ready now.
  base::Histogram latency;    ///< Of calls that were answered.
};

/// One worker's way to one Redis: a connection to the primary and to each replica (8 at most),
/// pipelined, kept up by itself with back-off and spread.
///
/// Each call has one permit of `guard`, whatever its legs, and one outcome. A reply belongs to the
/// oldest unanswered command of its connection; a command whose call has ended keeps its place
/// until its reply has come, or the connection has gone with all replies that were owed on it. So a
/// late reply answers nothing.
///
/// A command is sent once. A write that timed out or was lost may have been done: who repeats it
/// makes it idempotent.
///
/// One thread: the reactor's. Memory: max_commands and max_bytes a connection.
/// Source: RESP2 and Sentinel client guidelines of redis.io.
class RedisClient {
 public:
  /// `settings` are sound (validate). `guard` is shared by all workers and all who ask this Redis;
  /// `worker` is this one's index in it. `reactor` and `guard` outlive the client. `names`: who
  /// looks host names up, null for the process's resolver.
  RedisClient(net::Reactor& reactor, RedisSettings settings, resilience::Guard& guard,
              uint32_t worker, uint64_t seed, std::shared_ptr<net::NameLookup> names = {});
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;
  /// Calls under way end untold.
  ~RedisClient();

  /// Begins to connect; before that every call waits.
  void start();

  /// Sends the command of `parts` (copied). An error is an immediate refusal: nothing was sent, the
  /// listener is not called. The listener outlives its calls or cancels them.
  [[nodiscard]] base::Result<RedisTicket, RedisErrc> ask(RedisUse use,
                                                         std::span<const std::string_view> parts,
                                                         base::Instant deadline, uint64_t tag,
                                                         RedisListener& listener);

  /// The caller no longer wants it and is not called. No effect when the call has ended.
  void cancel(RedisTicket ticket);

  /// While above 0 nothing is asked twice.
  void set_shed_level(uint8_t level);

  /// Whether a call would find a connection now.
  [[nodiscard]] bool ready(RedisUse use) const;

  /// What a server said when it refused us last (a wrong password, LOADING); the client's thread.
  [[nodiscard]] std::string_view last_error() const;

  [[nodiscard]] const RedisCounters& counters() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::adapters
