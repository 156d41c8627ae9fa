#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "base/time.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::net {

/// A listening socket, or one sentence that says why there is none.
struct Listener {
  UniqueFd socket;
  uint16_t port = 0;
  std::string error;
};

/// Binds and listens; see Server::Server for `address`.
[[nodiscard]] Listener listen_on(std::string_view address);

/// "address:port" of a socket address; IPv6 in brackets.
[[nodiscard]] std::string to_text(const sockaddr_storage& address);

/// Accepts on one reactor and passes each connection on. Without a descriptor left it gives up its
/// spare one to accept and close a caller, then pauses for 10 ms, so that callers see an end
/// instead of a hang and the loop does not spin.
///
/// It stops so that no caller whose connection stands is reset: new handshakes are no longer begun
/// (their callers try again and are refused), those under way get 100 ms, the queue is taken whole,
/// and then the listener closes.
class Acceptor final : private ReadySink, private Timer {
 public:
  using Take = std::move_only_function<void(UniqueFd, const std::string& peer)>;

  Acceptor(Reactor& reactor, UniqueFd listener, ServerCounters& counters, Take take);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

  void start();
  /// Stops as above, then calls `closed`. Only the first call counts.
  void stop(std::move_only_function<void()> closed);

 private:
  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;

  enum class Accepted : uint8_t { kOne, kNone, kMustPause };
  Accepted accept_one();
  void shed_one();
  void close(base::Instant now);

  Reactor& reactor_;
  UniqueFd listener_;
  UniqueFd spare_;
  ServerCounters& counters_;
  Take take_;
  std::move_only_function<void()> closed_;
  base::Instant give_up_at_ = base::kNever;  ///< When stopping, whatever is still queued.
  bool listening_ = false;
};

}  // namespace spillway::net
