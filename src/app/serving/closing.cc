#include "app/serving/closing.h"

#include <chrono>

#include "base/time.h"
#include "net/server.h"
#include "observe/log.h"
#include "observe/supervisor.h"

namespace spillway::app {

void Closing::begin(net::Server& server, observe::Log& log, observe::Supervisor& supervisor,
                    base::Instant now, base::Duration announce, base::Duration timeout) {
  close_at_ = now + announce;
  over_at_ = close_at_ + timeout;
  log.event(observe::Level::kInfo, "event=stopping drain_announce_ms={:.0f} stop_timeout_ms={:.0f}",
            base::to_ms(announce), base::to_ms(timeout));
  server.announce_drain();
  supervisor.stopping(announce + timeout + std::chrono::seconds(1));
}

void Closing::tick(net::Server& server, observe::Log& log, base::Instant now) {
  if (now >= close_at_ && !closed_) {
    closed_ = true;
    log.event(observe::Level::kInfo, "event=listener_closing connections={}",
              server.open_connections());
    server.stop_accepting();
  }
}

}  // namespace spillway::app
