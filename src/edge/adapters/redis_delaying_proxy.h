#pragma once

// For tests only.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/time.h"
#include "net/os_clock.h"
#include "net/test_kit.h"

namespace spillway::adapters::testing {

/// Stands between a client and a server, and keeps what the server says for a while.
class DelayingProxy {
 public:
  /// How long the next bytes from the server are kept.
  using Delay = std::function<base::Duration()>;

  DelayingProxy(uint16_t server_port, Delay delay)
      : server_port_(server_port), delay_(std::move(delay)), thread_([this] { run(); }) {}

  DelayingProxy(const DelayingProxy&) = delete;
  DelayingProxy& operator=(const DelayingProxy&) = delete;

  ~DelayingProxy() {
    stop_ = true;
    thread_.join();
  }

  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(listener_.port());
  }

 private:
  struct Pair {
    net::testing::RawSocket client;
    net::testing::RawSocket server;
    std::deque<std::pair<base::Instant, std::string>> kept;
    bool over = false;
  };

  static std::string read(const net::testing::RawSocket& from, bool& over) {
    std::array<char, 65536> bytes{};
    const auto got =
        TEMP_FAILURE_RETRY(::recv(from.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT));
    over = over || got == 0 || (got < 0 && errno != EAGAIN);
    return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }

  void run() {
    const net::OsClock clock;
    while (!stop_) {
      if (listener_.has_caller()) {
        pairs_.push_back(
            {listener_.accept(), net::testing::RawSocket::to(server_port_), {}, false});
      }
      std::vector<pollfd> wait;
      for (const Pair& pair : pairs_) {
        wait.push_back({.fd = pair.client.fd(), .events = POLLIN, .revents = 0});
        wait.push_back({.fd = pair.server.fd(), .events = POLLIN, .revents = 0});
      }
      ::poll(wait.data(), wait.size(), 1);
      for (Pair& pair : pairs_) {
        pair.over = !pair.server.send(read(pair.client, pair.over)) || pair.over;
        if (std::string bytes = read(pair.server, pair.over); !bytes.empty()) {
          const base::Instant earliest =
              pair.kept.empty() ? base::Instant{} : pair.kept.back().first;
          pair.kept.emplace_back(std::max(earliest, clock.now() + delay_()), std::move(bytes));
        }
        while (!pair.kept.empty() && clock.now() >= pair.kept.front().first) {
          pair.over = !pair.client.send(pair.kept.front().second) || pair.over;
          pair.kept.pop_front();
        }
      }
      std::erase_if(pairs_, [](const Pair& pair) { return pair.over; });
    }
  }

  net::testing::RawListener listener_;
  uint16_t server_port_;
  Delay delay_;
  std::vector<Pair> pairs_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace spillway::adapters::testing
