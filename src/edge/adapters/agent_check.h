#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/time.h"
#include "net/acceptor.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"

namespace spillway::adapters {

/// What HAProxy is told of this server.
enum class AgentWord : uint8_t {
  kUp,       ///< "up N%": an agent-down ends, the weight is N % of the configured one.
  kUpBare,   ///< "up": says nothing of the weight. For a dry run.
  kDrain,    ///< "drain": nothing new; only kReadyUp ends it.
  kReadyUp,  ///< "ready up N%": also ends a drain or maint that an operator gave, so only after a
             ///< drain of our own.
};
inline constexpr size_t kAgentWords = 4;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(AgentWord word);

/// One answer to every HAProxy until the next tick.
struct AgentReply {
  AgentWord word = AgentWord::kUpBare;
  uint32_t percent = 100;        ///< Of the server's configured weight, [1, 256].
  bool absolute_weight = false;  ///< Add ` weight:N`: HAProxy 3.1 and later, unknown to 2.6.
};

/// The line as HAProxy reads it, ended by "\n": without its end HAProxy would ignore it.
///
/// Source: HAProxy 2.6 configuration manual, "agent-check".
[[nodiscard]] std::string agent_line(const AgentReply& reply);

struct AgentCheckCounters {
  base::Counter answered;
  base::Counter refused;  ///< Over max_connections: closed without a word.
  base::Counter failed;   ///< The caller was gone before its line could be written.
};

/// Who asked and when last; by address without port.
struct AgentPoller {
  std::string address;
  base::Instant last_at{};
};

/// The server side of HAProxy's agent-check: a line to each connection at once and its end;
/// whatever is sent (agent-send) is read and ignored. The line is what set_reply() said last, so
/// that every HAProxy is told the same between two ticks.
///
/// An answered connection costs no wake-up of its own: whether its caller has closed, or kLinger is
/// over, is looked at with the next poll or set_reply(), and it is let go of then.
///
/// One thread: the reactor's. Memory: max_connections, and kPollers callers' addresses.
class AgentCheckServer {
 public:
  static constexpr base::Duration kLinger = std::chrono::seconds(1);
  static constexpr size_t kPollers = 64;

  /// Binds at once; see error(). `address` as for net::Server.
  AgentCheckServer(net::Reactor& reactor, std::string_view address, size_t max_connections);
  AgentCheckServer(const AgentCheckServer&) = delete;
  AgentCheckServer& operator=(const AgentCheckServer&) = delete;
  ~AgentCheckServer();

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] uint16_t port() const { return port_; }

  void start();
  /// Each tick, changed or not.
  void set_reply(const AgentReply& reply);

  [[nodiscard]] const AgentReply& reply() const { return reply_; }

  [[nodiscard]] size_t connections() const { return open_.size(); }

  [[nodiscard]] const AgentCheckCounters& counters() const { return counters_; }

  /// Callers that asked within `age`, in no order.
  [[nodiscard]] std::vector<AgentPoller> pollers(base::Instant now, base::Duration age) const;

 private:
  /// A caller that has its line and has not closed yet, as far as we looked.
  struct Answered {
    net::UniqueFd socket;
    base::Instant at{};
  };

  void take(net::UniqueFd socket, const std::string& peer);
  void note_poller(const std::string& peer);
  void let_go();

  net::Reactor& reactor_;
  size_t max_connections_;
  std::string error_;
  uint16_t port_ = 0;
  AgentReply reply_;
  std::string line_;
  net::ServerCounters acceptor_counters_;
  AgentCheckCounters counters_;
  std::vector<AgentPoller> pollers_;
  std::vector<Answered> open_;
  base::Instant looked_at_{};
  std::unique_ptr<net::Acceptor> acceptor_;
};

}  // namespace spillway::adapters
