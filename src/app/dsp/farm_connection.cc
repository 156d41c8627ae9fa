#include "app/dsp/farm_connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/time.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/reactor.h"
#include "net/response_head.h"
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

FarmConnection::FarmConnection(net::Reactor& reactor, int fd, workload::Partner& partner)
    : reactor_(reactor), partner_(partner), fd_(fd), parser_(net::HttpParser::Kind::kRequest) {
  in_.resize(kReadBytes + net::kBodyPadding);
  parser_.start(kLimits);
  reactor_.add(fd_, EPOLLIN | EPOLLRDHUP, *this);
}

FarmConnection::~FarmConnection() { close(false); }

void FarmConnection::close(bool reset) {
  if (fd_ < 0) {
    return;
  }
  if (state_ != State::kReading) {
    partner_.account().abandoned.add();
  }
  cancel();
  reactor_.remove(fd_, *this);
  if (reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::close(fd_);
  fd_ = -1;
}

void FarmConnection::on_ready(uint32_t events) {
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    read_some();
  }
  if (fd_ >= 0 && (events & EPOLLOUT) != 0 && state_ == State::kWriting) {
    write_some(out_.size());
  }
}

void FarmConnection::read_some() {
  if (filled_ + kReadBytes + net::kBodyPadding > in_.size()) {
    in_.resize(std::max(in_.size() * 2, filled_ + kReadBytes + net::kBodyPadding));
  }
  const ssize_t got = ::recv(fd_, in_.data() + filled_, kReadBytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0 || filled_ > 2 * kRequestBytes) {
    close(false);
    return;
  }
  filled_ += static_cast<size_t>(got);
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
  plan_ = partner_.on_call(now, parser_.body(in_.data()));
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
  if (fd_ >= 0 && state_ == State::kDripping) {
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
  const ssize_t sent = ::send(fd_, out_.data() + written_, size, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    close(false);
    return;
  }
  written_ += sent > 0 ? static_cast<size_t>(sent) : 0;
  if (written_ == out_.size()) {
    finish_answer();
  } else if (state_ == State::kWriting) {
    reactor_.change(fd_, EPOLLIN | EPOLLRDHUP | EPOLLOUT, *this);
  }
}

void FarmConnection::finish_answer() {
  partner_.account().answered.add();
  state_ = State::kReading;
  if (!keep_alive_ || plan_.action == Action::kRaw) {
    close(false);
    return;
  }
  reactor_.change(fd_, EPOLLIN | EPOLLRDHUP, *this);
  parser_.start(kLimits);
  if (filled_ > 0) {
    parse();
  }
}

}  // namespace spillway::app
