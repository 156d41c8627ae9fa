#include "net/http2_connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>
#include <sys/uio.h>

#include "base/time.h"
#include "net/http.h"
#include "net/http2_session.h"
#include "net/pending_request.h"
#include "net/server_worker.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

constexpr size_t kRead = size_t{16} * 1024;
constexpr size_t kWrite = size_t{64} * 1024;
constexpr size_t kLingerBytes = size_t{256} * 1024;
constexpr base::Duration kLingerTime = std::chrono::seconds(1);

}  // namespace

Http2Connection::Http2Connection(ServerWorker& worker, Stream stream, Http2Caller caller)
    : worker_(worker),
      stream_(std::move(stream)),
      session_(std::make_unique<Http2Session>(worker, *this, std::move(caller))),
      self_(std::make_shared<Http2Connection*>(this)) {}

Http2Connection::~Http2Connection() {
  *self_ = nullptr;
  worker_.buffers.discharge(unsent_.size());
  session_.reset();
  worker_.counters.buffered_bytes.set(worker_.buffers.bytes());
}

void Http2Connection::open(std::string_view read) {
  const ServerWorker::Scope scope(worker_);
  worker_.counters.http2_connections.add();
  mask_ = EPOLLIN;
  worker_.reactor.add(stream_.fd(), mask_, *this);
  busy_ = true;
  for (; !dead_ && !read.empty(); read.remove_prefix(std::min(kRead, read.size()))) {
    take(read.substr(0, kRead), worker_.reactor.earliest_arrival());
  }
  if (worker_.shared.closed_at.load(std::memory_order_relaxed) != base::kNever) {
    session_->drain();  // it was hurried before it was HTTP/2
  }
  flush();
}

void Http2Connection::destroy() {
  if (std::exchange(dead_, true)) {
    return;
  }
  cancel();
  worker_.reactor.remove(stream_.fd(), *this);
  stream_.close();
  worker_.unlink(*this);
  session_->detach_all();
}

void Http2Connection::hurry() {
  const ServerWorker::Scope scope(worker_);
  if (!lingering_) {
    session_->drain();
    flush();
  }
}

void Http2Connection::resume() {
  if (held_since_ != base::kNever) {
    update();
  }
}

bool Http2Connection::held() const {
  return held_since_ != base::kNever && worker_.reads_paused() && !lingering_;
}

void Http2Connection::answer(PendingRequest& request, Response response) {
  session_->answer(request, std::move(response));
  if (!busy_) {
    flush_soon();
  }
}

/// Once for all answers of this poll.
void Http2Connection::flush_soon() {
  if (!std::exchange(flush_due_, true)) {
    worker_.reactor.defer([self = self_] {
      if (*self != nullptr && !(*self)->dead_) {
        const ServerWorker::Scope scope((*self)->worker_);
        (*self)->flush_due_ = false;
        (*self)->flush();
      }
    });
  }
}

void Http2Connection::on_ready(uint32_t epoll_events) {
  const ServerWorker::Scope scope(worker_);
  if ((epoll_events & EPOLLERR) != 0 || ((epoll_events & EPOLLHUP) != 0 && !lingering_)) {
    destroy();
    return;
  }
  if (lingering_) {
    discard();
    return;
  }
  if ((epoll_events & EPOLLOUT) != 0) {
    blocked_ = false;
  }
  busy_ = true;
  if ((epoll_events & EPOLLIN) != 0 || stream_.may_hold_bytes()) {
    if (worker_.reads_paused()) {
      worker_.note_held(held_since_);
    } else {
      read();
    }
  }
  flush();
}

void Http2Connection::read() {
  std::array<char, kRead> bytes;  // NOLINT(*-member-init): filled by read
  const IoResult result = stream_.read(bytes.data(), bytes.size());
  const base::Instant arrival = worker_.arrival(held_since_);
  if (result.state == IoResult::State::kDone) {
    take({bytes.data(), result.bytes}, arrival);
  } else if (result.state != IoResult::State::kBlocked) {
    destroy();
  }
}

void Http2Connection::take(std::string_view bytes, base::Instant arrival) {
  worker_.counters.received_bytes.add(bytes.size());
  if (!session_->receive(bytes, arrival)) {
    destroy();
  }
}

/// Writes what there is, ends what is over, and says what to be woken for.
void Http2Connection::flush() {
  static thread_local std::string frames;
  busy_ = true;
  while (!dead_ && !blocked_ && !lingering_) {
    if (unsent_.empty()) {
      frames.clear();
      if (!session_->produce(frames, kWrite)) {
        destroy();
      } else if (frames.empty()) {
        break;
      } else {
        write(frames);
      }
    } else {
      write(unsent_);
    }
  }
  if (!dead_ && !lingering_ && !blocked_ && session_->over()) {
    linger();
  }
  busy_ = false;
  update();
}

void Http2Connection::write(std::string_view bytes) {
  std::array<iovec, 1> parts{
      {{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()}}};
  const IoResult result = stream_.write(parts);
  if (result.state == IoResult::State::kFailed) {
    destroy();
    return;
  }
  const size_t sent = result.state == IoResult::State::kDone ? result.bytes : 0;
  worker_.counters.sent_bytes.add(sent);
  keep_unsent(bytes.substr(sent));
  if (unsent_.empty()) {
    session_->delivered();
  } else {
    blocked_ = true;
    since_ = worker_.reactor.now();
  }
}

/// `bytes` may be the end of what is kept.
void Http2Connection::keep_unsent(std::string_view bytes) {
  worker_.buffers.discharge(unsent_.size());
  if (bytes.empty()) {
    unsent_ = std::string();
  } else {
    unsent_ = std::string(bytes);
  }
  worker_.buffers.charge(unsent_.size());
}

void Http2Connection::discard() {
  std::array<char, kRead> scratch;  // NOLINT(*-member-init): nobody looks at it
  const IoResult result = stream_.read(scratch.data(), scratch.size());
  if (result.state == IoResult::State::kBlocked) {
    return;
  }
  if (result.state != IoResult::State::kDone || result.bytes >= linger_left_) {
    destroy();
    return;
  }
  linger_left_ -= result.bytes;
}

void Http2Connection::linger() {
  session_->detach_all();
  if (dead_) {
    return;
  }
  stream_.shut_write();
  lingering_ = true;
  linger_left_ = kLingerBytes;
  since_ = worker_.reactor.now();
}

void Http2Connection::on_timer(base::Instant now) {
  const ServerWorker::Scope scope(worker_);
  if (lingering_ && now >= since_ + kLingerTime) {
    destroy();
  } else if (blocked_ && now >= since_ + worker_.shared.limits.write_timeout) {
    worker_.counters.timeouts.add();
    destroy();
  } else if (lingering_) {
    update();  // what was armed before the end came first
  } else {
    busy_ = true;
    if (now >= session_->next_look() && held()) {
      read();  // what is held came in time
    }
    if (!dead_ && now >= session_->next_look()) {
      session_->on_time(now);
    }
    flush();
  }
}

void Http2Connection::update() {
  if (dead_) {
    return;
  }
  const bool reads = !held();
  const bool holds = reads && !lingering_ && stream_.may_hold_bytes();
  const uint32_t mask = (reads ? static_cast<uint32_t>(EPOLLIN) : 0U) |
                        (blocked_ || holds ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  if (mask != mask_) {
    mask_ = mask;
    worker_.reactor.change(stream_.fd(), mask_, *this);
  }
  base::Instant wanted = session_->next_look();
  if (lingering_) {
    wanted = since_ + kLingerTime;
  } else if (blocked_) {
    wanted = std::min(wanted, since_ + worker_.shared.limits.write_timeout);
  }
  if (wanted != base::kNever && (!armed() || due() > wanted)) {
    worker_.reactor.timers().arm(*this, wanted);
  }
}

}  // namespace spillway::net
