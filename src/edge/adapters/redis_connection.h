#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/redis_client.h"
#include "adapters/redis_protocol.h"
#include "adapters/redis_reply.h"
#include "adapters/redis_settings.h"
#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/timer_wheel.h"
#include "net/tls.h"
#include "resilience/guard.h"

namespace spillway::adapters {

/// What the server at the other end has to be.
enum class RedisRole : uint8_t { kAny, kPrimary, kSentinel };

/// One connection to one server, from its first SYN to its end: handshake (AUTH, SELECT, ROLE),
/// then commands and replies, pipelined. It is one generation: what it owes when it ends, nobody
/// else ever pays.
///
/// One thread. Its owner is told of everything from the reactor, never inside send(); it may call
/// end() from there, and destroys the connection later.
class RedisConnection final : private net::ReadySink, private net::Timer {
 public:
  class Owner {
   public:
    virtual void on_ready(RedisConnection& connection) = 0;
    /// The reply to the command of `call`.
    virtual void on_reply(RedisConnection& connection, uint64_t call, RedisReply reply) = 0;
    /// Once. `text`: the server's words, when it refused us.
    virtual void on_end(RedisConnection& connection, RedisErrc why, std::string_view text) = 0;

   protected:
    ~Owner() = default;
  };

  /// All but `role` outlive it; `tls` null: plain. `late_replies` counts replies to commands whose
  /// call had ended.
  RedisConnection(net::Reactor& reactor, const RedisSettings& settings, net::TlsClient* tls,
                  RedisRole role, base::Counter& late_replies, Owner& owner);
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;
  ~RedisConnection();

  /// False when that fails at once; the owner is not told.
  [[nodiscard]] bool connect(const net::SocketAddress& address);

  /// Takes its place among the commands; its bytes leave with flush(). kBusy: full.
  [[nodiscard]] base::Result<uint64_t, RedisErrc> send(RedisCommand command, uint64_t call);
  void flush();

  /// Whether a byte of command `serial` may have left.
  [[nodiscard]] bool sent(uint64_t serial) const;

  /// The call of command `serial` has ended. A command that never left is taken back; else its
  /// reply is awaited, and `tail` with it.
  void abandon(uint64_t serial, resilience::Tail tail);

  /// The calls whose commands were not answered, oldest first; for on_end().
  [[nodiscard]] std::vector<uint64_t> owed() const;

  /// Ends it; the owner is told unless it has ended before.
  void end(RedisErrc why, std::string_view text = {});

  [[nodiscard]] bool ready() const { return state_ == State::kReady; }

  /// Also after its end.
  [[nodiscard]] bool was_ready() const { return was_ready_; }

  [[nodiscard]] bool ended() const { return state_ == State::kEnded; }

  /// Commands without a reply.
  [[nodiscard]] size_t outstanding() const { return slots_.size(); }

  static constexpr uint64_t kNoCall = 0;
  /// From here on: commands of the handshake, instead of a call's number.
  static constexpr uint64_t kGreetings = ~uint64_t{0} - 3;

 private:
  enum class State : uint8_t { kConnecting, kSecuring, kGreeting, kReady, kEnded };

  struct Slot {
    RedisCommand command;
    uint64_t call = kNoCall;
    bool begun = false;    ///< A byte may have left.
    bool dropped = false;  ///< Taken back before that: no reply comes.
    base::Instant queued_at{};
    resilience::Tail tail;
  };

  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;
  void connected();
  void secure();
  void greet();
  void greet_with(std::span<const std::string_view> parts, uint64_t step);
  void on_greeting(uint64_t step, const RedisReply& reply);
  void read();
  bool take_replies();
  void take_reply(const RedisReply& reply);
  void drop_front();
  void want(uint32_t mask);
  void watch();
  [[nodiscard]] RedisErrc io_error() const;
  size_t gather(std::span<iovec> parts);
  void wrote(size_t bytes);

  net::Reactor& reactor_;
  const RedisSettings& settings_;
  net::TlsClient* tls_;
  RedisRole role_;
  base::Counter& late_replies_;
  Owner& owner_;
  net::Stream stream_;
  State state_ = State::kConnecting;
  bool was_ready_ = false;
  uint32_t mask_ = 0;
  RedisReader reader_;
  std::vector<char> in_;
  std::deque<Slot> slots_;
  uint64_t first_serial_ = 0;  ///< Of slots_.front().
  uint64_t next_write_ = 0;    ///< Serial of the first command not wholly written.
  size_t written_ = 0;         ///< Of that command.
  uint64_t unsent_bytes_ = 0;
  bool blocked_ = false;  ///< The socket takes no more.
};

}  // namespace spillway::adapters
