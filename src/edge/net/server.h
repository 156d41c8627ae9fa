#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/time.h"
#include "net/address_set.h"
#include "net/http.h"
#include "net/http2_settings.h"
#include "net/reactor.h"
#include "net/tls.h"

namespace spillway::net {

/// Bounds of one server. Every item is capped and so is the sum.
struct ServerLimits {
  size_t header_bytes = 16 * 1024;          ///< [1 KiB, 1 MiB]. Over: 431 and close.
  size_t header_count = 100;                ///< [8, 1000]. Over: 431 and close.
  size_t body_bytes = 256 * 1024;           ///< [1 KiB, 64 MiB]. Over: 413 and close.
  size_t pipeline = 16;                     ///< Requests of one connection in work. [1, 64].
  size_t worker_bytes = 256 * 1024 * 1024;  ///< Request and answer buffers of a worker together.
  size_t connections = 20'000;  ///< Of one server, all workers. Over: accepted and closed.
  base::Duration header_timeout = std::chrono::seconds(5);
  base::Duration body_timeout = std::chrono::seconds(5);
  base::Duration idle_timeout = std::chrono::seconds(75);
  base::Duration write_timeout = std::chrono::seconds(10);
};

/// What a listener is beside its address.
struct ListenerSettings {
  std::shared_ptr<TlsServer> tls{};  ///< Null: plain.
  /// Not empty: every connection begins with a PROXY header, version 1 or 2, and comes from one of
  /// these; others are closed and counted.
  AddressSet proxies{};
  AddressSet forwarders{};  ///< Whose X-Forwarded-For is believed.
  /// PROXY header and TLS handshake together.
  base::Duration handshake_timeout = std::chrono::seconds(5);
  size_t handshakes = 256;  ///< Under way at once, of a worker. Over: closed.
  /// Refusals of the server itself name the caller's Origin, as the handler's answers do for
  /// themselves: without it the page could not read the status.
  bool names_origin = false;
  bool gzip = true;  ///< Compressed bodies are inflated, answers over 1 KiB compressed if accepted.
  /// Plain: for callers that begin with HTTP/2's preface (prior knowledge; no Upgrade). Over TLS:
  /// for those that agreed on "h2", so `tls` must offer it too.
  Http2Settings http2{};
};

/// Counts of one worker's part of a server; summed at scrape.
struct ServerCounters {
  base::Counter accepted, closed, open, requests, answers;
  base::Counter bad_request, header_too_large, body_too_large, timeouts, over_budget;
  base::Counter over_connections, callers_gone, accept_errors;
  base::Counter received_bytes, sent_bytes, buffered_bytes;
  base::Counter tls_handshakes, tls_resumed;
  base::Counter tls_plaintext, tls_protocol, tls_certificate, tls_closed;  ///< Failed, by reason.
  base::Counter handshake_timeouts, over_handshakes;
  base::Counter proxy_untrusted, proxy_malformed;
  base::Counter inflated, deflated, gzip_bad, gzip_too_large;
  base::Counter http2_connections;            ///< Of `accepted`.
  base::Counter http2_refused, http2_resets;  ///< Streams over max_streams; reset by callers.
  base::Counter http2_protocol;               ///< Connections and streams ended for broken rules.
  base::Counter http2_stalled;                ///< Answers whose caller did not take them.
  base::Counter http2_reset_floods, http2_control_floods, http2_header_floods, http2_over_memory;
  base::Counter refusing_ns;  ///< Spent on requests whose answer was a refusal, system calls too.
  base::Counter read_pauses,
      reads_held;                 ///< pause_reads; connections and handshakes it kept waiting.
  base::Counter deadline_misses;  ///< Last byte accepted by the kernel after Reply's deadline.
};

struct PendingRequest;

/// The obligation to answer one request. Move-only, used on its worker's thread; destroyed without
/// an answer it sends 500 (a bug; counted nowhere else than by the caller of send()).
class Reply {
 public:
  Reply() = default;
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  /// Answers. Pipelined answers go out in the order of their requests. The request's views are
  /// dead afterwards.
  void send(Response response);

  /// If the last byte is accepted by the kernel after `deadline`, `deadline_misses` counts one.
  void set_deadline(base::Instant deadline);

  /// `gone` is called once if the caller's connection ends before the answer was sent. Requests's
  /// views stay valid until this Reply is destroyed all the same.
  void on_gone(std::move_only_function<void()> gone);

  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }

 private:
  friend class ServerConnection;
  friend class Http2Session;

  explicit Reply(PendingRequest* state) : state_(state) {}

  PendingRequest* state_ = nullptr;
};

/// Called on a worker's thread for each whole request; never from inside Reply::send().
using Handler = std::move_only_function<void(const Request&, Reply)>;

/// An HTTP/1.1 and HTTP/2 server, plain or over TLS, over several workers: one acceptor hands each
/// connection to the worker with the fewest. Handles keep-alive, pipelining, chunked bodies,
/// `Expect: 100-continue`, HTTP/1.0. Framing that two readers could understand differently is
/// answered 400 and closed.
class Server {
 public:
  struct Worker {
    Reactor& reactor;
    Handler handler;
  };

  /// Binds `address` ("127.0.0.1:8080", "[::1]:0"; port 0: a free one). Throws nothing: `error()`.
  Server(std::string_view address, const ServerLimits& limits, std::vector<Worker> workers,
         ListenerSettings settings = {});

  /// Closes every connection at once, each on its worker's thread; for less, stop_accepting() first
  /// and wait for drained(). Replies may outlive the server, reactors must.
  ~Server();

  /// Empty when listening; else one sentence with the address and the system's reason.
  [[nodiscard]] const std::string& error() const;
  [[nodiscard]] uint16_t port() const;

  /// Starts accepting on the first worker's reactor. Workers' reactors may already run.
  void start();

  /// From now on answers carry `Connection: close`. Any thread.
  void announce_drain();

  /// Announces the drain, and stops listening as Acceptor does. From then on a connection without
  /// work is closed after 250 ms, so that requests under way to it are read and answered; others
  /// close after their last answer. Any thread; takes effect on the workers' threads.
  void stop_accepting();

  /// The listener is closed and so is every connection.
  [[nodiscard]] bool drained() const;

  /// Until then nothing is read from that worker's callers, whatever they speak, nor is a TLS
  /// handshake gone on with; connections keep their places, answers still leave, and the time
  /// counts as waiting. A caller that sent in time does not time out for it. Ends when the listener
  /// has closed; no pause begins after that. On that worker's thread.
  void pause_reads(size_t worker, base::Instant until);

  /// Connections open on all workers.
  [[nodiscard]] size_t open_connections() const;

  [[nodiscard]] const ServerCounters& counters(size_t worker) const;
  [[nodiscard]] size_t workers() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;  // shared with the work posted to reactors
};

}  // namespace spillway::net
