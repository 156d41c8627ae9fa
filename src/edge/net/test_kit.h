#pragma once

// For this room's tests only: blocking sockets whose every wait is bounded, and a server on its
// own thread.
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"

namespace spillway::net::testing {

inline constexpr int kPatienceMs = 10'000;

/// A blocking TCP socket.
class RawSocket {
 public:
  explicit RawSocket(UniqueFd fd) : fd_(std::move(fd)) {}

  static RawSocket to(uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      fd.reset();
    }
    return RawSocket(std::move(fd));
  }

  /// False when the peer has gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent =
          TEMP_FAILURE_RETRY(::send(fd_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  void shut_write() { ::shutdown(fd_.fd(), SHUT_WR); }

  void reset_connection() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }

  void close() { fd_.reset(); }

  /// Some more bytes into received(); false at the end, on a reset, or when patience ends.
  bool receive() {
    pollfd wait{.fd = fd_.fd(), .events = POLLIN, .revents = 0};
    if (TEMP_FAILURE_RETRY(::poll(&wait, 1, kPatienceMs)) != 1) {
      timed_out_ = true;
      return false;
    }
    char bytes[65536];
    const auto got = TEMP_FAILURE_RETRY(::recv(fd_.fd(), bytes, sizeof bytes, 0));
    if (got <= 0) {
      return false;
    }
    received_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  /// What was received and not taken yet.
  std::string take() { return std::exchange(received_, {}); }

  /// Everything until the peer closes. Empty with timed_out() when it does not.
  std::string receive_all() {
    while (receive()) {
    }
    return std::exchange(received_, {});
  }

  /// One message framed by Content-Length (none: header only).
  std::string receive_message() {
    while (true) {
      const size_t head = received_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const size_t at = received_.find("Content-Length: ");
        const size_t length =
            at < head ? std::strtoul(received_.c_str() + at + 16, nullptr, 10) : 0;
        if (received_.size() >= head + 4 + length) {
          std::string message = received_.substr(0, head + 4 + length);
          received_.erase(0, message.size());
          return message;
        }
      }
      if (!receive()) {
        return "<end> " + received_;
      }
    }
  }

  [[nodiscard]] bool timed_out() const { return timed_out_; }

  [[nodiscard]] int fd() const { return fd_.fd(); }

  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
  std::string received_;
  bool timed_out_ = false;
};

/// A listening socket whose connections a test answers by hand.
class RawListener {
 public:
  explicit RawListener(int backlog = 64) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(fd_.fd(), backlog);
    socklen_t size = sizeof address;
    getsockname(fd_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }

  [[nodiscard]] uint16_t port() const { return port_; }

  /// Whether a caller is queued now.
  [[nodiscard]] bool has_caller() const {
    pollfd now{.fd = fd_.fd(), .events = POLLIN, .revents = 0};
    return TEMP_FAILURE_RETRY(::poll(&now, 1, 0)) == 1;
  }

  RawSocket accept() {
    pollfd wait{.fd = fd_.fd(), .events = POLLIN, .revents = 0};
    if (TEMP_FAILURE_RETRY(::poll(&wait, 1, kPatienceMs)) != 1) {
      return RawSocket(UniqueFd());
    }
    return RawSocket(UniqueFd(::accept4(fd_.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
  }

  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
  uint16_t port_ = 0;
};

/// A reactor on a thread of its own, from construction to destruction.
class ReactorThread {
 public:
  ReactorThread() : thread_([this] { reactor.run(); }) {}

  ReactorThread(const ReactorThread&) = delete;
  ReactorThread& operator=(const ReactorThread&) = delete;

  ~ReactorThread() { end(); }

  void end() {
    if (thread_.joinable()) {
      reactor.stop();
      thread_.join();
    }
  }

  /// Runs `work` on the thread and waits for it.
  template <typename Work>
  void sync(Work work) {
    std::promise<void> done;
    reactor.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  OsClock clock;
  Reactor reactor{clock};

 private:
  std::thread thread_;
};

}  // namespace spillway::net::testing
