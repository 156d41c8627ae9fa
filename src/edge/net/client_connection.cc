#include "net/client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/call_result.h"
#include "base/time.h"
#include "net/buffer_pool.h"
#include "net/client.h"
#include "net/client_core.h"
#include "net/client_target.h"
#include "net/http_parser.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/tls.h"

namespace spillway::net {
namespace {

using base::CallError;
using base::CallPhase;

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
      requests_left_(target.settings.keep_alive ? std::numeric_limits<uint32_t>::max() : 1),
      idle_timeout_(target.settings.idle_timeout),
      parser_(HttpParser::Kind::kResponse) {}

ClientConnection::~ClientConnection() {
  if (state_ != State::kDead && mask_ != 0) {
    core_.reactor.remove(stream_.fd(), *this);
  }
}

int ClientConnection::connect(const SocketAddress& address, base::Duration patience) {
  if (stream_.fd() < 0) {
    return EMFILE;
  }
  const int code =
      ::connect(stream_.fd(), reinterpret_cast<const sockaddr*>(&address.storage), address.size);
  if (code != 0 && errno != EINPROGRESS) {
    return errno;
  }
  mask_ = EPOLLOUT;
  core_.reactor.add(stream_.fd(), mask_, *this, Urgency::kAnswer);
  want_timer(core_.reactor.now() + patience);
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
    // The end is told once, like the bytes before it: both are read now.
    constexpr uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    const bool has_end = (epoll_events & kEnd) != 0;
    ends_ = ends_ || has_end;
    IoResult::State last{};
    do {
      last = read();
    } while (state_ != State::kDead && last == IoResult::State::kDone &&
             (has_end || is_full_ || stream_.may_hold_bytes()));
  }
}

/// Told once of new bytes, where one read takes all there are: told until it has read, each would
/// cost the kernel another look at the socket. A TLS session may leave bytes behind.
uint32_t ClientConnection::reading() const {
  return stream_.tls() != nullptr ? uint32_t{EPOLLIN} : EPOLLIN | EPOLLRDHUP | EPOLLET;
}

void ClientConnection::connected() {
  int error = 0;
  socklen_t size = sizeof error;  // NOLINT(misc-include-cleaner)
  getsockopt(stream_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    target_.connect_failed(*this, error);
    return;
  }
  if (!secured()) {
    return;
  }
  mask_ = reading();
  core_.reactor.change(stream_.fd(), mask_, *this);
  become_idle();
  target_.connected(*this);
}

/// Whether bytes of calls may flow; a handshake that fails ends the connection.
bool ClientConnection::secured() {
  TlsClient* const client = target_.settings.tls.get();
  if (stream_.tls() == nullptr) {
    if (client == nullptr) {
      return true;
    }
    stream_.secure(client->connect(stream_.fd()));
    if (stream_.tls() == nullptr) {
      target_.connect_failed(*this, EPROTO);
      return false;
    }
  }
  const IoResult result = stream_.handshake();
  if (result.state == IoResult::State::kDone) {
    target_.counters.tls_handshakes.add();
    if (stream_.tls()->resumed()) {
      target_.counters.tls_resumed.add();
    }
    return true;
  }
  if (result.state != IoResult::State::kBlocked) {
    target_.counters.tls_failed.add();
    target_.connect_failed(*this, EPROTO);
    return false;
  }
  const uint32_t mask = stream_.tls()->wants_write() ? EPOLLOUT : EPOLLIN;
  if (mask != mask_) {
    mask_ = mask;
    core_.reactor.change(stream_.fd(), mask_, *this);
  }
  return false;
}

/// What a failed read or write is called.
CallError ClientConnection::io_error() const {
  return stream_.tls() != nullptr && stream_.tls()->failure() != TlsFailure::kNone &&
                 stream_.tls()->failure() != TlsFailure::kClosed
             ? CallError::kTls
             : CallError::kReset;
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
  expect_answer();
  write();
}

void ClientConnection::write() {
  if (!sent_whole()) {
    std::array<iovec, 1> parts{
        iovec{.iov_base = out_.data() + sent_, .iov_len = out_size_ - sent_}};
    const IoResult result = stream_.write(parts);
    if (result.state == IoResult::State::kFailed) {
      fail(io_error());
      return;
    }
    sent_ += result.bytes;
    target_.counters.sent_bytes.add(result.bytes);
    if (sent_whole()) {
      target_.counters.requests_sent.add();
    }
  }
  const uint32_t mask = sent_whole() ? reading() : EPOLLIN | EPOLLOUT;
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

void ClientConnection::cut() {
  if (call_ != nullptr) {
    abandon(CallError::kCancelled, false);
  } else {
    lost();
  }
}

void ClientConnection::retire() {
  retired_ = true;
  if (state_ == State::kIdle || state_ == State::kConnecting) {
    close();
  }
}

}  // namespace spillway::net
