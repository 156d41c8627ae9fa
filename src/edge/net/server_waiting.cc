// What a ServerConnection waits for: bytes, room to write, a pause of reads, and how long at most.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include <sys/epoll.h>

#include "base/time.h"
#include "net/server.h"
#include "net/server_connection.h"
#include "net/server_worker.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::net {
namespace {

constexpr base::Duration kLingerTime = std::chrono::seconds(1);
// Idle time left once the listener has closed: what was sent before that has arrived by then.
constexpr base::Duration kLastIdleTime = std::chrono::milliseconds(250);

}  // namespace

void ServerConnection::close_idle() {
  read();  // a request may wait in the kernel: timers come before readiness
  if (!dead_ && !lingering_ && first_ == nullptr && !in_message_) {
    linger();
    update();
  }
}

/// Leaves what came to the kernel until the pause of reads is over.
void ServerConnection::hold() {
  worker_.note_held(held_since_);
  stop_reading();
  update();
}

/// It would be told again and again of what it does not read now.
void ServerConnection::stop_reading() {
  mask_ &= static_cast<uint32_t>(EPOLLOUT);
  worker_.reactor.change(stream_.fd(), mask_, *this);
}

bool ServerConnection::held() const {
  return held_since_ != base::kNever && worker_.reads_paused();
}

/// Its time is over, but what is held came in time.
void ServerConnection::take_held() {
  if (opening_) {
    go_on_opening();
  } else if (!lingering_ && !read_closed_ && !no_more_requests_ &&
             queued_ < worker_.shared.limits.pipeline) {
    read();
    update();
  }
}

void ServerConnection::resume() {
  if (held_since_ != base::kNever) {
    update();
  }
}

base::Instant ServerConnection::wanted_timer() const {
  const ServerLimits& limits = worker_.shared.limits;
  if (opening_) {
    return phase_since_ + worker_.shared.listener.handshake_timeout;
  }
  if (lingering_) {
    return phase_since_ + kLingerTime;
  }
  if (blocked_) {
    return phase_since_ + limits.write_timeout;
  }
  if (in_message_) {
    return phase_since_ + (in_body_ ? limits.body_timeout : limits.header_timeout);
  }
  if (first_ != nullptr) {
    return base::kNever;
  }
  const base::Instant idle_until = phase_since_ + limits.idle_timeout;
  const base::Instant closed_at = worker_.shared.closed_at.load(std::memory_order_relaxed);
  return closed_at == base::kNever
             ? idle_until
             : std::min(idle_until, std::max(phase_since_, closed_at) + kLastIdleTime);
}

void ServerConnection::on_timer(base::Instant now) {
  const ServerWorker::Scope scope(worker_);
  if (now >= wanted_ && held()) {
    take_held();
    if (dead_) {
      return;
    }
  }
  if (now < wanted_) {
    if (wanted_ != base::kNever) {
      worker_.reactor.timers().arm(*this, wanted_);
    }
    return;
  }
  if (opening_) {
    worker_.counters.handshake_timeouts.add();
    destroy();
  } else if (lingering_) {
    destroy();
  } else if (blocked_) {
    worker_.counters.timeouts.add();
    destroy();
  } else if (in_message_) {
    worker_.counters.timeouts.add();
    refuse(408);
  } else {
    close_idle();
  }
}

void ServerConnection::update() {
  if (dead_) {
    return;
  }
  const bool reads = lingering_ || (!read_closed_ && !no_more_requests_ && !held() &&
                                    queued_ < worker_.shared.limits.pipeline);
  // EPOLLIN is taken out only when it fires in vain: mostly it would be back before that.
  uint32_t mask = read_closed_ ? 0U : (mask_ & EPOLLIN);
  mask |= reads ? EPOLLIN : 0U;
  const bool holds = reads && !lingering_ && !opening_ && stream_.may_hold_bytes();
  const bool shakes =
      opening_ && !held() && stream_.tls() != nullptr && stream_.tls()->wants_write();
  mask |= blocked_ || holds || shakes || can_parse() ? EPOLLOUT : 0U;
  // What only reads is told once of new bytes, and each time reads all there are: told until it has
  // read, each request would cost the kernel another look at the socket. A TLS session may leave
  // bytes behind.
  if (mask == EPOLLIN && !lingering_ && !opening_ && stream_.tls() == nullptr) {
    mask = kToldOnce;
  }
  if (const bool again = std::exchange(may_read_more_, false); again || mask != mask_) {
    mask_ = mask;
    worker_.reactor.change(stream_.fd(), mask_, *this);
  }
  wanted_ = wanted_timer();
  if (wanted_ != base::kNever && (!armed() || due() > wanted_)) {
    worker_.reactor.timers().arm(*this, wanted_);
  }
}

}  // namespace spillway::net
