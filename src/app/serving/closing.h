#pragma once

#include "base/time.h"
#include "net/server.h"
#include "observe/log.h"
#include "observe/supervisor.h"

namespace spillway::app {

/// The end of a program that serves: it says so and serves on, then its listener closes, then what
/// is under way has its time. The control thread's.
class Closing {
 public:
  /// From now on: announced for `announce`, over `timeout` after that whatever is left.
  void begin(net::Server& server, observe::Log& log, observe::Supervisor& supervisor,
             base::Instant now, base::Duration announce, base::Duration timeout);

  /// Closes the listener when it is time for that.
  void tick(net::Server& server, observe::Log& log, base::Instant now);

  [[nodiscard]] bool begun() const { return over_at_ != base::kNever; }

  [[nodiscard]] bool listener_closed() const { return closed_; }

  /// Nothing is waited for any more.
  [[nodiscard]] bool is_over(base::Instant now) const { return now >= over_at_; }

 private:
  base::Instant close_at_ = base::kNever;
  base::Instant over_at_ = base::kNever;
  bool closed_ = false;
};

}  // namespace spillway::app
