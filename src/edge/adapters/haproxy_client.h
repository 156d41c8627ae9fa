#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/timer_wheel.h"

namespace spillway::adapters {

enum class HaproxyErrc : uint8_t {
  kNoListener,  ///< Nothing listens there, or there is no such socket.
  kDenied,      ///< The socket's owner or mode keeps us out.
  kTimeout,
  kLost,      ///< Ended before all was answered: commands may have been carried out.
  kTooLarge,  ///< The answers are over the bound.
  kBusy,      ///< Too many batches wait; nothing was sent.
  kUnsafe,    ///< A command with a line break or a semicolon; nothing was sent.
};
inline constexpr size_t kHaproxyErrors = 7;

/// snake_case name, as in metrics.
[[nodiscard]] std::string_view to_string(HaproxyErrc error);

struct HaproxyFailure {
  HaproxyErrc error = HaproxyErrc::kLost;
  std::string text;  ///< One sentence with the address.
};

/// What HAProxy said to each command of a batch, in order, without line ends around it: "" is what
/// most commands say when they are done.
using HaproxyAnswers = base::Result<std::vector<std::string>, HaproxyFailure>;

/// Single writer: the client's thread.
struct HaproxyClientCounters {
  base::Counter batches, commands, connects;
  base::Counter failed[kHaproxyErrors];  // NOLINT(modernize-avoid-c-arrays): of atomics
};

/// The Runtime API of one HAProxy, over its stats socket: "/run/haproxy.sock", or
/// "127.0.0.1:9999" (a literal) where it listens on TCP. Each batch has a connection of its own in
/// prompt mode, so that answers are told apart, and batches go one after the other.
///
/// One thread: the reactor's. Memory: kMaxWaiting batches and `answer_bytes`.
/// Source: HAProxy 2.6 management.txt, 9.3 "Unix Socket commands".
class HaproxyClient final : private net::ReadySink, private net::Timer {
 public:
  static constexpr size_t kMaxWaiting = 64;

  using Done = std::move_only_function<void(const HaproxyAnswers&)>;

  HaproxyClient(net::Reactor& reactor, std::string address, base::Duration timeout,
                size_t answer_bytes = size_t{64} << 20);
  HaproxyClient(const HaproxyClient&) = delete;
  HaproxyClient& operator=(const HaproxyClient&) = delete;
  /// Batches under way end untold.
  ~HaproxyClient();

  /// Sends `commands` (each one line without ';', not empty) as one batch; `done` is called once on
  /// the reactor's thread, never from inside. It may run another.
  void run(const std::vector<std::string>& commands, Done done);

  [[nodiscard]] const std::string& address() const { return address_; }

  [[nodiscard]] const HaproxyClientCounters& counters() const { return counters_; }

 private:
  struct Batch {
    size_t commands = 0;
    std::string bytes;
    Done done;
    HaproxyErrc refused = HaproxyErrc::kLost;
    bool is_refused = false;
  };

  void begin();
  [[nodiscard]] bool connect();
  void on_ready(uint32_t epoll_events) override;
  void on_timer(base::Instant now) override;
  void write();
  void read();
  void finish_reading();
  void fail(HaproxyErrc error, std::string_view why);
  void finish(const HaproxyAnswers& answers);
  void close();

  net::Reactor& reactor_;
  std::string address_;
  base::Duration timeout_;
  size_t answer_bytes_;
  HaproxyClientCounters counters_;
  std::deque<Batch> batches_;  ///< The first is under way when active_.
  bool active_ = false;
  net::UniqueFd socket_;
  size_t written_ = 0;
  std::string received_;
};

}  // namespace spillway::adapters
