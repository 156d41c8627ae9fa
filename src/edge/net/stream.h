#pragma once

#include <cstddef>
#include <memory>
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

class TlsSession;

/// The byte layer of a connection: everything above it sees bytes, never the descriptor's calls.
/// A plain TCP socket, or a TLS session on one: handshake() is called on readiness until it does
/// not say kBlocked, before the first read() or write().
class Stream {
 public:
  explicit Stream(UniqueFd socket);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  [[nodiscard]] int fd() const { return socket_.fd(); }

  /// From now on bytes go through `session`, which was made on fd().
  void secure(std::unique_ptr<TlsSession> session);

  /// Null for a plain socket.
  [[nodiscard]] TlsSession* tls() const { return tls_.get(); }

  [[nodiscard]] IoResult handshake() const;

  [[nodiscard]] IoResult read(char* into, size_t size) const;
  /// kDone with less than all of `parts`: the rest goes when the socket is writable, unchanged at
  /// its beginning.
  [[nodiscard]] IoResult write(std::span<iovec> parts) const;

  /// Whether to read again although the socket may never be readable.
  [[nodiscard]] bool may_hold_bytes() const;

  /// No more bytes from us; what was written still arrives.
  void shut_write() const;

  void close();

 private:
  UniqueFd socket_;
  std::unique_ptr<TlsSession> tls_;
};

/// Splits "127.0.0.1:80", "[::1]:80"; false when the text is neither or the port no number.
bool split_address(std::string_view text, std::string& host, std::string& port);

}  // namespace spillway::net
