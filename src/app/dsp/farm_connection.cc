#include "app/dsp/farm_connection.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/time.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/reactor.h"
#include "net/response_head.h"
#include "net/stream.h"
#include "net/tls.h"
#include "workload/partner.h"

namespace spillway::app {

namespace {

using Action = workload::Plan::Action;

constexpr size_t kReadBytes = 16 * 1024;

constexpr net::ParseLimits kLimits{
    .header_bytes = 64 * 1024, .header_count = 200, .body_bytes = FarmConnection::kRequestBytes};

std::string answer_bytes(const workload::Plan& plan, bool keep_alive) {
  if (plan.action == Action::kRaw) {
    return plan.body;
  }
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", plan.status, net::reason_phrase(plan.status));
  if (plan.retry_after > base::Duration::zero()) {
    out += fmt::format("Retry-After: {}\r\n",
                       std::chrono::ceil<std::chrono::seconds>(plan.retry_after).count());
  }
  if (!keep_alive) {
    out += "Connection: close\r\n";
  }
  if (!net::bodyless(plan.status)) {
    out +=
        fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", plan.body.size());
  }
  return out + "\r\n" + plan.body;
}

}  // namespace

FarmConnection::FarmConnection(net::Reactor& reactor, net::Stream stream, Home home)
    : reactor_(reactor),
      home_(home),
      stream_(std::move(stream)),
      parser_(net::HttpParser::Kind::kRequest) {
  in_.resize(kReadBytes + net::kBodyPadding);
  parser_.start(kLimits);
  if (stream_.tls() == nullptr) {
    state_ = State::kReading;
  }
  reactor_.add(stream_.fd(), EPOLLIN | EPOLLRDHUP, *this);
}

FarmConnection::~FarmConnection() { close(false); }

void FarmConnection::close(bool reset) {
  if (closed()) {
    return;
  }
  if (state_ != State::kReading && state_ != State::kHandshake) {
    home_.partner.account().abandoned.add();
  }
  cancel();
  reactor_.remove(stream_.fd(), *this);
  if (reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(stream_.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  stream_.close();
}

void FarmConnection::read_and_reset() {
  if (!closed() && state_ == State::kReading) {
    read_some();
  }
  close(true);
}

void FarmConnection::shake_hands() {
  const auto result = stream_.handshake();
  if (result.state == net::IoResult::State::kBlocked) {
    const uint32_t more = stream_.tls()->wants_write() ? uint32_t{EPOLLOUT} : 0U;
    reactor_.change(stream_.fd(), EPOLLIN | EPOLLRDHUP | more, *this);
  } else if (result.state == net::IoResult::State::kDone) {
    reactor_.change(stream_.fd(), EPOLLIN | EPOLLRDHUP, *this);
    state_ = State::kReading;
    read_some();
  } else {
    close(false);
  }
}

void FarmConnection::on_ready(uint32_t events) {
  if (state_ == State::kHandshake) {
    shake_hands();
    return;
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    read_some();
  }
  if (!closed() && (events & EPOLLOUT) != 0 && state_ == State::kWriting) {
    write_some(out_.size());
  }
}

void FarmConnection::read_some() {
  do {
    read_once();
  } while (!closed() && stream_.may_hold_bytes());
}

void FarmConnection::read_once() {
  if (filled_ + kReadBytes + net::kBodyPadding > in_.size()) {
    in_.resize(std::max(in_.size() * 2, filled_ + kReadBytes + net::kBodyPadding));
  }
  const auto got = stream_.read(in_.data() + filled_, kReadBytes);
  if (got.state == net::IoResult::State::kBlocked) {
    return;
  }
  if (got.state != net::IoResult::State::kDone || filled_ > 2 * kRequestBytes) {
    close(false);
    return;
  }
  filled_ += got.bytes;
  if (state_ == State::kReading) {
    parse();
  }
}

void FarmConnection::parse() {
  using Progress = net::HttpParser::Progress;
  switch (parser_.feed(in_.data(), filled_)) {
    case Progress::kMore:
      break;
    case Progress::kBad:
      close(true);
      break;
    case Progress::kWhole:
      on_request();
      break;
  }
}

void FarmConnection::on_request() {
  const base::Instant now = reactor_.now();
  keep_alive_ = parser_.keep_alive();
  home_.calls.add();
  plan_ = home_.partner.on_call(now, parser_.body(in_.data()), home_.host);
  const size_t used = parser_.consumed();
  std::memmove(in_.data(), in_.data() + used, filled_ - used);
  filled_ -= used;
  if (plan_.action == Action::kHang) {
    state_ = State::kHanging;
    return;
  }
  state_ = State::kWaiting;
  if (plan_.delay <= base::Duration::zero()) {
    begin_answer();
  } else {
    reactor_.timers().arm(*this, now + plan_.delay);
  }
}

void FarmConnection::on_timer(base::Instant now) {
  if (state_ == State::kWaiting) {
    begin_answer();
    return;
  }
  write_some(plan_.drip_bytes);
  if (!closed() && state_ == State::kDripping) {
    reactor_.timers().arm(*this, now + plan_.drip_interval);
  }
}

void FarmConnection::begin_answer() {
  if (plan_.action == Action::kReset) {
    state_ = State::kReading;
    close(true);
    return;
  }
  out_ = answer_bytes(plan_, keep_alive_);
  written_ = 0;
  if (plan_.action == Action::kDrip) {
    state_ = State::kDripping;
    on_timer(reactor_.now());
    return;
  }
  state_ = State::kWriting;
  write_some(out_.size());
}

void FarmConnection::write_some(size_t most) {
  const size_t size = std::min(most, out_.size() - written_);
  iovec part{.iov_base = out_.data() + written_, .iov_len = size};
  const auto sent = stream_.write({&part, 1});
  if (sent.state == net::IoResult::State::kFailed || sent.state == net::IoResult::State::kEnd) {
    close(false);
    return;
  }
  written_ += sent.bytes;
  if (written_ == out_.size()) {
    finish_answer();
  } else if (state_ == State::kWriting) {
    reactor_.change(stream_.fd(), EPOLLIN | EPOLLRDHUP | EPOLLOUT, *this);
  }
}

void FarmConnection::finish_answer() {
  home_.partner.account().answered.add();
  state_ = State::kReading;
  if (!keep_alive_ || plan_.action == Action::kRaw) {
    close(false);
    return;
  }
  reactor_.change(stream_.fd(), EPOLLIN | EPOLLRDHUP, *this);
  parser_.start(kLimits);
  if (filled_ > 0) {
    parse();
  }
}

}  // namespace spillway::app
