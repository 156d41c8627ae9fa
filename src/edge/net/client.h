#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/counter.h"
#include "base/time.h"
#include "net/host_choice.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/tls.h"

namespace spillway::net {

/// What the targets of one client share.
struct ClientSettings {
  size_t worker_bytes = 256 * 1024 * 1024;  ///< Requests and part answers together, at least
                                            ///< 256 KiB. Over: kNoBudget.
  std::shared_ptr<NameLookup> names{};      ///< Null: the process's Resolver.
};

/// One peer as one worker sees it.
struct TargetSettings {
  std::string name{};  ///< For logs and metrics.
  std::string host{};  ///< Name or address literal.
  uint16_t port = 80;
  /// Literals. Not empty: these are its addresses and `host` is its name only, never looked up.
  std::vector<std::string> addresses{};
  /// Decides which address takes a call; null: all that accept connections are alike. One object
  /// for one target.
  std::shared_ptr<HostChoice> hosts{};
  /// Not null: over TLS, and the peer must prove that it is the name in there. Another object is
  /// another peer: connections made with the former one are retired.
  std::shared_ptr<TlsClient> tls{};
  bool gzip = false;             ///< Requests of 1 KiB and more are compressed; answers may be.
  size_t max_connections = 128;  ///< Of this worker.
  /// Connects under way at once, of this worker. One that gets no answer is given up after twice
  /// the time that the call it was begun for had for connecting, within [250 ms, 2 s]: a black hole
  /// holds a place no longer, and a peer a little slower than that deadline still gets connected.
  size_t max_handshakes = 8;
  size_t max_waiting = 64;  ///< Calls that may wait for handshakes begun for others.
  bool keep_alive = true;   ///< False: every call goes out on a connection of its own.
  /// Not empty: the answer header whose number is wanted (CallListener::on_number).
  std::string number_header{};
  size_t header_bytes = 16 * 1024;
  size_t answer_bytes = 1024 * 1024;                       ///< Cap on the body.
  base::Duration idle_timeout = std::chrono::seconds(30);  ///< Below the peer's keep-alive; a
                                                           ///< `Keep-Alive: timeout=` lowers it.
  base::Duration tail_time = std::chrono::seconds(1);      ///< How long a late answer is drained.
  size_t tail_bytes = 256 * 1024;
  /// A failed look-up is repeated after this or 1 s, whichever is shorter; known addresses stay.
  base::Duration resolve_every = std::chrono::seconds(30);
};

struct TargetCounters {
  base::Counter calls, connects, reused, stale_retries, handshakes_failed, no_connection;
  base::Counter no_descriptor;  ///< Of handshakes_failed: we had no file descriptor left.
  base::Counter connections_open, idle_closed, poisoned, tails_drained, tails_cut;
  base::Counter tls_handshakes, tls_resumed, tls_failed;
  base::Counter sent_bytes, received_bytes;
  base::Counter requests_sent;  ///< Taken whole by the kernel; a repeated call counts each time.
};

/// What a call's owner is told, on the client's thread.
class CallListener {
 public:
  /// Exactly once a call, never from inside call(). `body` (kBodyPadding readable bytes follow)
  /// lives until this returns. When `draining`, on_tail follows.
  virtual void on_answer(uint64_t tag, const base::CallResult& result, std::string_view body,
                         bool draining) = 0;

  /// Exactly once after an on_answer that said `draining`: the late answer was read whole
  /// (error kNone; its time is the true latency) or given up.
  virtual void on_tail(uint64_t tag, const base::CallResult& result) = 0;

  /// Before the on_answer of a whole answer that has the target's number_header. May not call the
  /// client.
  virtual void on_number(uint64_t /*tag*/, uint64_t /*number*/) {}

 protected:
  ~CallListener() = default;
};

/// Times of one call, all absolute.
struct CallDeadlines {
  base::Instant connect_by = base::kNever;  ///< A connection must exist by then.
  base::Instant first_byte_by = base::kNever;
  base::Instant answer_by = base::kNever;  ///< The whole answer must be read by then.
};

using TargetId = uint32_t;

/// The HTTP/1.1 client of one worker: per target a LIFO pool of kept-alive connections.
///
/// A deadline, a cancelled call and a lost hedge alike: the call is settled at once and its
/// connection drains the late answer (bounded); it is never closed for that. Bytes that nobody
/// asked for poison a connection: it is closed, never used for another call. Redirects are answers.
/// A reused connection that ends before the first byte is replaced once when time allows.
///
/// Of a target's addresses two are used, chosen by rendezvous hashing so that workers spread over
/// all; more as the connections exceed the addresses' even shares of max_connections; of more than
/// 64 the rest never. One that refuses or stays silent is passed over for 1 s.
///
/// One thread owns it (its reactor's). Memory: bounded by the targets' caps and worker_bytes.
class Client {
 public:
  explicit Client(Reactor& reactor, ClientSettings settings = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Closes everything; calls under way are told nothing.
  ~Client();

  /// Starts resolving in the background at once; addresses literal need no thread. A target whose
  /// settings change keeps its fitting connections.
  TargetId add_target(TargetSettings settings);
  void change_target(TargetId target, TargetSettings settings);
  /// Cancels its calls and closes its connections. Ids are not used again.
  void remove_target(TargetId target);

  /// Sends one request. `extra_headers` are whole lines, each ended by CRLF; Host (unless given
  /// there) and Content-Length are added. Everything is copied once, because a stale connection may
  /// make it go out again. `listener` must outlive the call and its tail. Returns the call's id for
  /// cancel(); the answer comes through `listener`, refusals included.
  uint64_t call(TargetId target, std::string_view method, std::string_view path,
                std::string_view extra_headers, std::span<const std::string_view> body,
                const CallDeadlines& deadlines, uint64_t tag, CallListener& listener);

  /// Settles a call now (on_answer comes from inside) with error kCancelled; it drains like one
  /// whose deadline passed. Unknown and settled ids are ignored.
  void cancel(uint64_t call);

  [[nodiscard]] const TargetCounters& counters(TargetId target) const;
  [[nodiscard]] size_t addresses(TargetId target) const;

  /// Counts of a target's connections now: idle, busy, connecting, draining.
  struct Pool {
    size_t idle = 0, busy = 0, connecting = 0, draining = 0;
  };

  [[nodiscard]] Pool pool(TargetId target) const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace spillway::net
