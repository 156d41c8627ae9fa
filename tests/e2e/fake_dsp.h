#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "e2e/sockets.h"

namespace spillway::e2e {

/// A bidder on a free port of 127.0.0.1, or where it is told, that answers with whatever bytes it
/// is told, right or wrong. Each connection has a thread; destruction ends them.
class FakeDsp {
 public:
  /// What to do with one request.
  struct Answer {
    std::string bytes;                   ///< Sent as they are.
    bool hang = false;                   ///< Nothing more is sent, the connection stays.
    bool close = false;                  ///< The connection ends after the bytes.
    std::chrono::milliseconds after{0};  ///< How long the answer takes; less when the caller goes.
  };

  using Script = std::function<Answer(const Message& request)>;

  explicit FakeDsp(Script script, const std::string& address = "127.0.0.1", uint16_t port = 0);
  ~FakeDsp();
  FakeDsp(const FakeDsp&) = delete;
  FakeDsp& operator=(const FakeDsp&) = delete;

  /// 0 when it could not listen there.
  [[nodiscard]] uint16_t port() const { return port_; }

  [[nodiscard]] uint64_t calls() const { return calls_.load(); }

  [[nodiscard]] Message last() const;

  void set_script(Script script);

 private:
  void accept_all();
  void serve(int fd);

  Fd listener_;
  uint16_t port_ = 0;
  std::atomic<uint64_t> calls_{0};
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  Script script_;
  Message last_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A whole answer of 200 with this body.
[[nodiscard]] std::string ok(std::string_view body);

/// A bid of `price` on the imp "1" of the base request.
[[nodiscard]] std::string bid_body(std::string_view price, std::string_view seat = "s1");

}  // namespace spillway::e2e
