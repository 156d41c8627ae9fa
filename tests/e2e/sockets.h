#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace spillway::e2e {

using Clock = std::chrono::steady_clock;

/// An owned file descriptor.
class Fd {
 public:
  Fd() = default;

  explicit Fd(int fd) : fd_(fd) {}

  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  [[nodiscard]] int value() const { return fd_; }

  void close();

 private:
  int fd_ = -1;
};

/// Connected to 127.0.0.1:port, reads bounded to `patience`.
[[nodiscard]] Fd connect_to(uint16_t port, std::chrono::milliseconds patience);

/// Ends a connection with a reset.
void reset(Fd& fd);

void send_all(int fd, std::string_view bytes);

/// Appends what comes next; false at the end, on an error or when patience is out.
bool receive_some(int fd, std::string& into);

/// One HTTP message: a request as a bidder reads it, or an answer as a caller does.
struct Message {
  std::string start_line;
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;

  [[nodiscard]] int status() const;  ///< 0 for no answer at all.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// Reads one message with Content-Length (or none); what is left stays in `buffer`. False when the
/// peer ends first.
bool read_message(int fd, std::string& buffer, Message& out);

struct Caller {
  uint16_t port = 0;
  std::string extra_headers;  ///< Whole lines.

  /// One request on a connection of its own.
  [[nodiscard]] Message call(std::string_view method, std::string_view target,
                             std::string_view body = "") const;

  [[nodiscard]] Message post(std::string_view target, std::string_view body) const {
    return call("POST", target, body);
  }
};

}  // namespace spillway::e2e
