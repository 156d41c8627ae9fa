#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/uio.h>

namespace spillway::net {

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;

  explicit UniqueFd(int fd) : fd_(fd) {}

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }

  ~UniqueFd() { reset(); }

  void reset(int fd = -1);

  [[nodiscard]] int fd() const { return fd_; }

  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// What one read or write did.
struct IoResult {
  enum class State : unsigned char { kDone, kBlocked, kEnd, kFailed };
  State state = State::kDone;
  size_t bytes = 0;  ///< With kDone.
  int error = 0;     ///< With kFailed: errno.
};

/// The byte layer of a connection: everything above it sees bytes, never the descriptor's calls.
/// Today a plain TCP socket; a TLS session drops in behind the same four functions: handshake() is
/// called on readiness until it does not say kBlocked, before the first read() or write().
class Stream {
 public:
  explicit Stream(UniqueFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.fd(); }

  [[nodiscard]] IoResult handshake() const { return {}; }

  [[nodiscard]] IoResult read(char* into, size_t size) const;
  [[nodiscard]] IoResult write(std::span<iovec> parts) const;

  /// No more bytes from us; what was written still arrives.
  void shut_write() const;

  void close() { socket_.reset(); }

 private:
  UniqueFd socket_;
};

/// Splits "127.0.0.1:80", "[::1]:80"; false when the text is neither or the port no number.
bool split_address(std::string_view text, std::string& host, std::string& port);

}  // namespace spillway::net
