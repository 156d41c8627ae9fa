#include "net/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/tls.h"

namespace spillway::net {
namespace {

IoResult failure() {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    return {.state = IoResult::State::kBlocked};
  }
  return {.state = IoResult::State::kFailed, .error = errno};
}

}  // namespace

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = fd;
}

Stream::Stream(UniqueFd socket) : socket_(std::move(socket)) {}

Stream::Stream(Stream&& other) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept = default;
Stream::~Stream() = default;

void Stream::secure(std::unique_ptr<TlsSession> session) { tls_ = std::move(session); }

IoResult Stream::handshake() const { return tls_ != nullptr ? tls_->handshake() : IoResult{}; }

bool Stream::may_hold_bytes() const { return tls_ != nullptr && tls_->may_hold_bytes(); }

IoResult Stream::read(char* into, size_t size) const {
  if (tls_ != nullptr) {
    return tls_->read(into, size);
  }
  const ssize_t got = ::recv(socket_.fd(), into, size, 0);
  if (got > 0) {
    return {.bytes = static_cast<size_t>(got)};
  }
  return got == 0 ? IoResult{.state = IoResult::State::kEnd} : failure();
}

IoResult Stream::write(std::span<iovec> parts) const {
  if (tls_ != nullptr) {
    return tls_->write(parts);
  }
  ssize_t sent = 0;
  if (parts.size() == 1) {
    sent = ::send(socket_.fd(), parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL);
  } else {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    sent = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL);
  }
  return sent >= 0 ? IoResult{.bytes = static_cast<size_t>(sent)} : failure();
}

void Stream::shut_write() const {
  if (tls_ != nullptr) {
    tls_->shut();
  }
  ::shutdown(socket_.fd(), SHUT_WR);
}

void Stream::close() {
  if (tls_ != nullptr) {
    tls_->shut();
    tls_.reset();
  }
  socket_.reset();
}

bool split_address(std::string_view text, std::string& host, std::string& port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return false;
  }
  std::string_view name = text.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  } else if (name.contains(':')) {
    return false;
  }
  host = name;
  port = text.substr(colon + 1);
  return port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace spillway::net
