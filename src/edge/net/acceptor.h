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
class Acceptor final : private ReadySink, private Timer {
 public:
  using Take = std::move_only_function<void(UniqueFd, const std::string& peer)>;

  Acceptor(Reactor& reactor, UniqueFd listener, ServerCounters& counters, Take take);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

  void start();
  /// Accepts what is queued, then stops listening. Idempotent.
  void stop();

 private:
  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;
  /// False when nothing is queued or accepting must pause.
  bool accept_one();
  void shed_one();

  Reactor& reactor_;
  UniqueFd listener_;
  UniqueFd spare_;
  ServerCounters& counters_;
  Take take_;
  bool listening_ = false;
};

}  // namespace spillway::net
