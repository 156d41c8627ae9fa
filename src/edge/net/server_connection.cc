#include "net/server_connection.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>

#include "base/time.h"
#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/pending_request.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/server_codings.h"
#include "net/server_worker.h"
#include "net/stream.h"

namespace spillway::net {

ServerConnection::ServerConnection(ServerWorker& worker, UniqueFd socket, std::string peer)
    : worker_(worker),
      stream_(std::move(socket)),
      peer_(std::move(peer)),
      parser_(HttpParser::Kind::kRequest) {}

ServerConnection::~ServerConnection() = default;

void ServerConnection::open() {
  phase_since_ = worker_.reactor.now();
  const ListenerSettings& listener = worker_.shared.listener;
  mask_ = listener.proxies.empty() && listener.tls == nullptr ? kToldOnce : uint32_t{EPOLLIN};
  worker_.reactor.add(stream_.fd(), mask_, *this);
  begin_opening();
  update();
}

void ServerConnection::destroy() {
  if (dead_) {
    return;
  }
  dead_ = true;
  if (std::exchange(opening_, false)) {
    --worker_.handshakes;
  }
  cancel();
  worker_.reactor.remove(stream_.fd(), *this);
  stream_.close();
  in_.reset();
  worker_.unlink(*this);
  detach_all();
}

void ServerConnection::on_ready(uint32_t epoll_events) {
  const ServerWorker::Scope scope(worker_);
  if (opening_) {
    if (worker_.reads_paused() && (epoll_events & (EPOLLERR | EPOLLHUP)) == 0) {
      hold();
    } else {
      go_on_opening();
    }
    return;
  }
  if ((epoll_events & EPOLLERR) != 0 || ((epoll_events & EPOLLHUP) != 0 && !lingering_)) {
    destroy();
    return;
  }
  at_end_ = at_end_ || (epoll_events & EPOLLRDHUP) != 0;
  if ((epoll_events & EPOLLOUT) != 0) {
    blocked_ = false;
    pump();
  }
  if (!dead_ && ((epoll_events & (EPOLLIN | EPOLLHUP)) != 0 || stream_.may_hold_bytes())) {
    if (lingering_) {
      discard();
    } else if (read_closed_ || no_more_requests_ || queued_ >= worker_.shared.limits.pipeline) {
      stop_reading();
    } else if (worker_.reads_paused()) {
      hold();
    } else {
      read();
    }
  }
}

void ServerConnection::read() {
  if (!reserve()) {
    return;
  }
  const size_t room = in_.capacity() - end_;
  const IoResult result = stream_.read(in_.data() + end_, room);
  const base::Instant arrival = worker_.arrival(held_since_);
  if (result.state != IoResult::State::kDone) {
    if (begin_ == end_) {
      drop_input();
    }
    if (result.state == IoResult::State::kFailed) {
      destroy();
    } else if (result.state == IoResult::State::kEnd) {
      on_end();
    } else if (stream_.tls() != nullptr) {
      update();  // it holds no bytes any more
    }
    return;
  }
  arrival_ = arrival;
  arrival_age_ = worker_.queue_age(arrival_);
  worker_.counters.received_bytes.add(result.bytes);
  end_ += result.bytes;
  needs_bytes_ = false;
  may_read_more_ = result.bytes == room || at_end_;
  pump();
}

/// Makes room behind end_; false when the request was refused instead.
bool ServerConnection::reserve() {
  const ServerLimits& limits = worker_.shared.limits;
  size_t want = BufferPool::kBlock;
  if (in_) {
    const size_t used = end_ - begin_;
    const size_t hint = in_message_ ? parser_.size_hint() : 0;
    if (end_ == in_.capacity() && in_message_) {
      end_ = begin_ + parser_.compact(in_.data() + begin_, used);
    }
    if (end_ < in_.capacity() && begin_ + hint <= in_.capacity()) {
      return true;
    }
    // Header, joined body, and one chunk header or trailer not parsed yet: the parser caps each.
    const size_t most = (2 * limits.header_bytes) + limits.body_bytes + BufferPool::kBlock;
    want =
        std::max(hint, std::min(most, used < BufferPool::kBlock ? BufferPool::kBlock : 2 * used));
    if (want <= used) {
      refuse(ParseError::kBadFraming);
      return false;
    }
  }
  BufferRef buffer = worker_.buffers.take(want);
  if (!buffer) {
    worker_.counters.over_budget.add();
    refuse(503);
    return false;
  }
  relocate(std::move(buffer));
  return true;
}

void ServerConnection::relocate(BufferRef to) {
  if (in_) {
    std::memcpy(to.data(), in_.data() + begin_, end_ - begin_);
  }
  end_ -= begin_;
  begin_ = 0;
  in_ = std::move(to);
  worker_.counters.buffered_bytes.set(worker_.buffers.bytes());
}

void ServerConnection::drop_input() {
  in_.reset();
  worker_.counters.buffered_bytes.set(worker_.buffers.bytes());
  begin_ = end_ = 0;
  in_message_ = in_body_ = needs_bytes_ = false;
}

bool ServerConnection::can_parse() const {
  return !dead_ && !no_more_requests_ && begin_ < end_ && !needs_bytes_ &&
         queued_ < worker_.shared.limits.pipeline;
}

void ServerConnection::parse() {
  const ServerLimits& limits = worker_.shared.limits;
  while (can_parse()) {
    if (!in_message_) {
      in_message_ = true;
      phase_since_ = worker_.reactor.now();
      message_arrival_ = arrival_;
      message_age_ = arrival_age_;
      parser_.start({.header_bytes = limits.header_bytes,
                     .header_count = limits.header_count,
                     .body_bytes = limits.body_bytes});
    }
    if (fresh_ && begins_http2()) {
      return;
    }
    switch (parser_.feed(in_.data() + begin_, end_ - begin_)) {
      case HttpParser::Progress::kWhole:
        dispatch();
        break;
      case HttpParser::Progress::kBad:
        refuse(parser_.error());
        break;
      case HttpParser::Progress::kMore:
        needs_bytes_ = true;
        if (parser_.header_done() && !in_body_) {
          in_body_ = true;
          phase_since_ = worker_.reactor.now();
          wants_continue_ = parser_.expects_continue() && parser_.body(in_.data() + begin_).empty();
        }
        break;
    }
  }
}

void ServerConnection::dispatch() {
  const char* const message = in_.data() + begin_;
  BufferRef inflated;
  std::string_view body = parser_.body(message);
  if (worker_.shared.listener.gzip) {
    const uint16_t status =
        inflate_body(worker_, parser_.header(message, "Content-Encoding"), body, inflated, body);
    if (status != 0) {
      refuse(status);
      return;
    }
  }
  PendingRequest& pending = worker_.take_request();
  pending.connection = this;
  pending.buffer = in_.share();
  pending.inflated = std::move(inflated);
  pending.keep_alive = parser_.keep_alive();
  pending.http10 = parser_.http10();
  parser_.headers(message, pending.headers);
  const size_t peer_size = std::min(peer_.size(), pending.peer.size());
  std::memcpy(pending.peer.data(), peer_.data(), peer_size);
  pending.request = {.method = parser_.method(message),
                     .target = parser_.target(message),
                     .headers = pending.headers,
                     .body = body,
                     .peer = {pending.peer.data(), peer_size},
                     .client_address = address_of({pending.peer.data(), peer_size}),
                     .secure = stream_.tls() != nullptr,
                     .time_zero = message_arrival_,
                     .read_at = worker_.reactor.now(),
                     .queue_age = message_age_};
  if (peer_forwards_) {
    name_client(worker_.shared.listener.forwarders, pending);
  }
  pending.head_only = pending.request.method == "HEAD";
  pending.takes_gzip =
      worker_.shared.listener.gzip && accepts_gzip(pending.request.header("Accept-Encoding"));
  begin_ += parser_.consumed();
  in_message_ = in_body_ = wants_continue_ = false;
  if (begin_ == end_) {
    std::memset(in_.data() + end_, 0, kBodyPadding);
    drop_input();
  }
  no_more_requests_ = !pending.keep_alive;
  pending.queued = pending.held = true;
  (last_ != nullptr ? last_->behind : first_) = &pending;
  last_ = &pending;
  ++queued_;
  worker_.counters.requests.add();
  worker_.handler(pending.request, Reply(&pending));
}

void ServerConnection::refuse(ParseError error) {
  switch (error) {
    case ParseError::kHeaderTooLarge:
      worker_.counters.header_too_large.add();
      refuse(431);
      break;
    case ParseError::kBodyTooLarge:
      worker_.counters.body_too_large.add();
      refuse(413);
      break;
    case ParseError::kBadFraming:
    case ParseError::kNone:
      worker_.counters.bad_request.add();
      refuse(400);
      break;
  }
}

/// Answers what is no request for the handler, in its turn, and reads no more.
void ServerConnection::refuse(uint16_t status) {
  Response response{.status = status, .content_type = "text/plain", .headers = {}, .body = {}};
  if (in_message_) {
    name_origin(worker_.shared.listener, parser_.header(in_.data() + begin_, "Origin"), response);
  }
  drop_input();
  no_more_requests_ = true;
  wants_continue_ = false;
  PendingRequest& pending = worker_.take_request();
  pending.connection = this;
  pending.keep_alive = false;
  pending.queued = true;
  (last_ != nullptr ? last_->behind : first_) = &pending;
  last_ = &pending;
  ++queued_;
  response.body = std::string(reason_phrase(status)) + "\n";
  response.close = true;
  answer(pending, std::move(response));
}

/// The caller sends no more bytes; it may still read (a half-closed connection).
void ServerConnection::on_end() {
  read_closed_ = true;
  no_more_requests_ = true;
  if (in_message_) {
    refuse(ParseError::kBadFraming);
    return;
  }
  drop_input();
  if (first_ == nullptr) {
    destroy();
    return;
  }
  update();
}

void ServerConnection::discard() {
  std::array<char, 16 * 1024> scratch{};
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

}  // namespace spillway::net
