#include "net/client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/answer_headers.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_core.h"
#include "net/client_target.h"
#include "net/http_parser.h"
#include "net/resolver.h"
#include "net/stream.h"

namespace spillway::net {
namespace {

using base::CallError;
using base::CallPhase;

/// Longer than one retransmission of a lost SYN (1 s).
constexpr base::Duration kHandshakeTime = std::chrono::seconds(2);

UniqueFd new_socket(int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

ClientConnection::ClientConnection(ClientTarget& target, const SocketAddress& address)
    : target_(target),
      core_(target.core),
      stream_(new_socket(address.storage.ss_family)),
      address_key_(address.key()),
      requests_left_(std::numeric_limits<uint32_t>::max()),
      idle_timeout_(target.settings.idle_timeout),
      parser_(HttpParser::Kind::kResponse) {}

ClientConnection::~ClientConnection() {
  if (state_ != State::kDead && mask_ != 0) {
    core_.reactor.remove(stream_.fd(), *this);
  }
}

int ClientConnection::connect(const SocketAddress& address) {
  if (stream_.fd() < 0) {
    return EMFILE;
  }
  const int code =
      ::connect(stream_.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.size);
  if (code != 0 && errno != EINPROGRESS) {
    return errno;
  }
  mask_ = EPOLLOUT;
  core_.reactor.add(stream_.fd(), mask_, *this);
  want_timer(core_.reactor.now() + kHandshakeTime);
  return 0;
}

void ClientConnection::want_timer(base::Instant due_at) {
  wanted_ = due_at;
  if (due_at != base::kNever && (!armed() || due() > due_at)) {
    core_.reactor.timers().arm(*this, due_at);
  }
}

void ClientConnection::on_timer(base::Instant now) {
  const ClientCore::Scope scope(core_);
  if (now < wanted_) {
    core_.reactor.timers().arm(*this, wanted_);
    return;
  }
  switch (state_) {
    case State::kConnecting:
      target_.connect_failed(*this, ETIMEDOUT);
      break;
    case State::kIdle:
      target_.counters.idle_closed.add();
      close();
      break;
    case State::kDraining:
      lost();
      break;
    case State::kBusy:
    case State::kDead:
      break;
  }
}

void ClientConnection::on_ready(uint32_t epoll_events) {
  const ClientCore::Scope scope(core_);
  if (state_ == State::kConnecting) {
    connected();
    return;
  }
  if ((epoll_events & EPOLLOUT) != 0) {
    write();
  }
  if (state_ != State::kDead && (epoll_events & ~static_cast<uint32_t>(EPOLLOUT)) != 0) {
    read();
  }
}

void ClientConnection::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(stream_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    target_.connect_failed(*this, error);
    return;
  }
  if (stream_.handshake().state == IoResult::State::kBlocked) {
    return;
  }
  mask_ = EPOLLIN;
  core_.reactor.change(stream_.fd(), mask_, *this);
  become_idle();
  target_.connected(*this);
}

void ClientConnection::become_idle() {
  state_ = State::kIdle;
  want_timer(core_.reactor.now() + idle_timeout_);
}

void ClientConnection::start(Call& call) {
  state_ = State::kBusy;
  wanted_ = base::kNever;
  call_ = &call;
  call.connection = this;
  call.result.reused = served_;
  if (served_) {
    target_.counters.reused.add();
  }
  out_ = std::move(call.request);
  out_size_ = call.request_size;
  sent_ = received_ = 0;
  interim_ = 0;
  if (requests_left_ != std::numeric_limits<uint32_t>::max()) {
    --requests_left_;
  }
  const TargetSettings& settings = target_.settings;
  parser_.start({.header_bytes = settings.header_bytes,
                 .header_count = 200,
                 .body_bytes = settings.answer_bytes});
  write();
}

void ClientConnection::write() {
  if (!sent_whole()) {
    std::array<iovec, 1> parts{
        iovec{.iov_base = out_.data() + sent_, .iov_len = out_size_ - sent_}};
    const IoResult result = stream_.write(parts);
    if (result.state == IoResult::State::kFailed) {
      fail(CallError::kReset);
      return;
    }
    sent_ += result.bytes;
    target_.counters.sent_bytes.add(result.bytes);
  }
  const uint32_t mask = sent_whole() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  if (mask != mask_) {
    mask_ = mask;
    core_.reactor.change(stream_.fd(), mask_, *this);
  }
}

CallPhase ClientConnection::phase() const {
  if (received_ != 0) {
    return CallPhase::kBody;
  }
  return sent_whole() ? CallPhase::kFirstByte : CallPhase::kSend;
}

void ClientConnection::read() {
  if (state_ == State::kIdle) {
    read_idle();
    return;
  }
  const bool shared = !in_;
  if (shared) {
    in_ = core_.scratch.share();
    begin_ = end_ = 0;
  }
  const IoResult result = stream_.read(in_.data() + end_, in_.capacity() - end_);
  switch (result.state) {
    case IoResult::State::kDone:
      received_ += result.bytes;
      target_.counters.received_bytes.add(result.bytes);
      end_ += result.bytes;
      if (call_ != nullptr) {
        call_->answer_begun = true;
      }
      parse();
      return;
    case IoResult::State::kEnd:
      if (received_ != 0 && parser_.finish() == HttpParser::Progress::kWhole) {
        ends_ = true;
        complete();
      } else {
        fail(CallError::kReset);
      }
      return;
    case IoResult::State::kFailed:
      fail(CallError::kReset);
      return;
    case IoResult::State::kBlocked:
      if (shared) {
        in_.reset();
      }
      return;
  }
}

void ClientConnection::read_idle() {
  const IoResult result = stream_.read(core_.scratch.data(), core_.scratch.capacity());
  if (result.state == IoResult::State::kBlocked) {
    return;
  }
  (result.state == IoResult::State::kDone ? target_.counters.poisoned
                                          : target_.counters.idle_closed)
      .add();
  close();
}

void ClientConnection::parse() {
  while (true) {
    switch (parser_.feed(message(), end_ - begin_)) {
      case HttpParser::Progress::kWhole:
        if (parser_.status() / 100 != 1) {
          complete();
          return;
        }
        if (!next_message()) {
          return;
        }
        break;
      case HttpParser::Progress::kBad:
        fail(parser_.error() == ParseError::kBadFraming ? CallError::kProtocol
                                                        : CallError::kTooLarge);
        return;
      case HttpParser::Progress::kMore:
        if (state_ == State::kDraining && received_ > tail_.bytes_left) {
          lost();
        } else if (!make_room()) {
          fail(CallError::kNoBudget);
        }
        return;
    }
  }
}

/// Steps over an interim answer; false when there is nothing more to parse now.
bool ClientConnection::next_message() {
  constexpr uint32_t kMostInterim = 8;
  if (parser_.status() == 101 || ++interim_ > kMostInterim) {
    fail(CallError::kProtocol);
    return false;
  }
  begin_ += parser_.consumed();
  const TargetSettings& settings = target_.settings;
  parser_.start({.header_bytes = settings.header_bytes,
                 .header_count = 200,
                 .body_bytes = settings.answer_bytes});
  if (begin_ != end_) {
    return true;
  }
  in_.reset();
  begin_ = end_ = 0;
  return false;
}

/// Part of an answer moves out of the shared buffer, and into a larger one when it must.
bool ClientConnection::make_room() {
  const bool shared = in_.data() == core_.scratch.data();
  const size_t hint = parser_.size_hint();
  if (!shared) {
    if (end_ == in_.capacity()) {
      end_ = begin_ + parser_.compact(message(), end_ - begin_);
    }
    if (end_ < in_.capacity() && begin_ + hint <= in_.capacity()) {
      return true;
    }
  }
  const size_t used = end_ - begin_;
  BufferRef larger = core_.buffers.take(std::max({hint, 2 * used, BufferPool::kBlock}));
  if (!larger) {
    return false;
  }
  std::memcpy(larger.data(), message(), used);
  in_ = std::move(larger);
  begin_ = 0;
  end_ = used;
  return true;
}

/// What the answer's headers say about the next call.
void ClientConnection::read_policy(base::CallResult& result) {
  result.status = parser_.status();
  ends_ = ends_ || !parser_.keep_alive();
  if (const auto value = parser_.header(message(), "Retry-After"); !value.empty()) {
    result.retry_after = retry_after(value);
  }
  if (const auto value = parser_.header(message(), "Keep-Alive"); !value.empty()) {
    const KeepAlive policy = keep_alive(value);
    if (policy.timeout_s) {
      // Closed by us half a second before the peer does, so that no request meets its FIN.
      const base::Duration theirs = std::chrono::seconds(*policy.timeout_s);
      idle_timeout_ =
          std::min(idle_timeout_,
                   theirs - std::min(theirs / 2, base::Duration(std::chrono::milliseconds(500))));
    }
    if (policy.max) {
      requests_left_ = std::min(requests_left_, *policy.max);
    }
  }
}

void ClientConnection::complete() {
  base::CallResult& result = call_ != nullptr ? call_->result : tail_.result;
  read_policy(result);
  result.phase = CallPhase::kDone;
  result.error = CallError::kNone;
  result.sent_bytes = sent_;
  result.received_bytes = received_;
  const BufferRef held = std::move(in_);
  const std::string_view body = parser_.body(held.data() + begin_);
  if (begin_ + parser_.consumed() != end_) {
    target_.counters.poisoned.add();
    ends_ = true;
  }
  ends_ = ends_ || !sent_whole() || requests_left_ == 0 || retired_;
  out_.reset();
  served_ = true;
  Call* const call = std::exchange(call_, nullptr);
  const bool was_draining = state_ == State::kDraining;
  if (was_draining) {
    target_.counters.tails_drained.add();
    target_.end_drain();
  }
  state_ = State::kIdle;
  if (ends_) {
    close();
  } else {
    become_idle();
    target_.offer(*this);
  }
  if (call != nullptr) {
    core_.settle(*call, body);
  } else if (was_draining) {
    tail_.result.ended_at = core_.reactor.now();
    const Tail tail = tail_;
    tail.listener->on_tail(tail.tag, tail.result);
  }
}

void ClientConnection::abandon(CallError error, bool drain) {
  Call& call = *std::exchange(call_, nullptr);
  call.result.error = error;
  call.result.phase = phase();
  call.result.status = parser_.status();
  call.result.sent_bytes = sent_;
  call.result.received_bytes = received_;
  const bool draining = drain && !retired_ && target_.begin_drain();
  if (draining) {
    state_ = State::kDraining;
    tail_ = {.tag = call.tag,
             .listener = call.listener,
             .result = call.result,
             .bytes_left = received_ + target_.settings.tail_bytes};
    want_timer(core_.reactor.now() + target_.settings.tail_time);
  } else {
    close();
  }
  core_.settle(call, {}, draining);
}

/// The connection is of no more use: EOF, reset, or bytes that break the rules.
void ClientConnection::fail(CallError error) {
  if (call_ == nullptr) {
    tail_.result.error = error;
    lost();
    return;
  }
  Call& call = *call_;
  const base::Instant now = core_.reactor.now();
  if (error == CallError::kReset && received_ == 0 && call.result.reused && !call.result.retried &&
      now < std::min(call.next_deadline(), call.deadlines.connect_by)) {
    call_ = nullptr;
    call.request = std::move(out_);
    close();
    target_.retry(call);
    return;
  }
  abandon(error, false);
}

/// The tail ends without its answer, or the idle connection ends.
void ClientConnection::lost() {
  if (state_ != State::kDraining) {
    close();
    return;
  }
  Tail tail = tail_;
  target_.counters.tails_cut.add();
  close();
  if (tail.result.error == CallError::kCancelled) {
    tail.result.error = CallError::kTimeout;
  }
  tail.result.phase = phase();
  tail.result.received_bytes = received_;
  tail.result.ended_at = core_.reactor.now();
  tail.listener->on_tail(tail.tag, tail.result);
}

void ClientConnection::close() {
  if (state_ == State::kDead) {
    return;
  }
  const State was = std::exchange(state_, State::kDead);
  cancel();
  if (mask_ != 0) {
    core_.reactor.remove(stream_.fd(), *this);
  }
  stream_.close();
  out_.reset();
  in_.reset();
  target_.unlink(*this, was);
}

void ClientConnection::retire() {
  retired_ = true;
  if (state_ == State::kIdle || state_ == State::kConnecting) {
    close();
  }
}

}  // namespace spillway::net
