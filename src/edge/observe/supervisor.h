#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/stream.h"

namespace spillway::observe {

/// What the service's supervisor wants: where it listens and how often it must be told that we
/// live.
struct SupervisorSettings {
  std::string address;        ///< A path, or `@` and an abstract name; empty: there is none.
  base::Duration watchdog{};  ///< Zero: no watchdog.
};

/// From $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID, as systemd sets them.
[[nodiscard]] SupervisorSettings supervisor_of_environment();

/// Tells the supervisor of this process, such as systemd, in what state it is: one datagram a
/// change on a UNIX socket. Never blocks and never fails the caller: a supervisor that does not
/// listen is its own trouble. Holds its socket from the start, so it works without free
/// descriptors.
///
/// One thread. Source: sd_notify(3), "Stand-alone Implementations"; systemd.service(5), Type=.
class Supervisor {
 public:
  explicit Supervisor(const SupervisorSettings& settings);

  /// Empty, or why nobody can be told.
  [[nodiscard]] const std::string& error() const { return error_; }

  void ready();
  /// `now` is the monotonic clock's; ready() must follow.
  void reloading(base::Instant now);
  /// We end, and need at most `patience` for it.
  void stopping(base::Duration patience);

  /// Says twice per watchdog interval that we live. The caller does not call it when we do not.
  void alive(base::Instant now);

  /// How old the proof of life behind alive() may be; nothing without a watchdog.
  [[nodiscard]] std::optional<base::Duration> watchdog() const;

 private:
  void tell(std::string_view message);

  net::UniqueFd socket_;
  base::Duration watchdog_;
  base::Instant next_alive_{};
  std::string error_;
};

}  // namespace spillway::observe
