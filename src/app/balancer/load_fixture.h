#pragma once

// For this part's tests only: requests that go on while servers and HAProxies change.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "adapters/haproxy_fixture.h"
#include "net/http.h"
#include "net/server.h"
#include "net/test_kit.h"

namespace spillway::app::balancing::testing {

/// Back ends on one thread and callers on others, for as long as it lives.
class Load {
 public:
  Load(size_t backends, const std::string& front, size_t callers) {
    for (size_t i = 0; i < backends; ++i) {
      std::vector<net::Server::Worker> workers;
      workers.push_back(
          {.reactor = thread_.reactor,
           .handler = [](const net::Request&, net::Reply reply) { reply.send({.body = "ok"}); }});
      servers_.push_back(
          std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers)));
      servers_.back()->start();
    }
    for (size_t i = 0; i < callers; ++i) {
      callers_.emplace_back([this, front] { call(front); });
    }
  }

  ~Load() { end(); }

  void end() {
    ending_ = true;
    for (std::thread& caller : callers_) {
      caller.join();
    }
    callers_.clear();
    servers_.clear();
  }

  [[nodiscard]] uint16_t port(size_t backend) const {
    return servers_[backend % servers_.size()]->port();
  }

  void begin() { begun_ = true; }

  std::atomic<uint64_t> answered{0}, failed{0};

 private:
  void call(const std::string& front) {
    while (!begun_ && !ending_) {
      ::poll(nullptr, 0, 1);
    }
    auto socket = adapters::testing::connect_local(front);
    while (!ending_) {
      socket.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
      std::string answer;
      bool good = true;  // as far as it is there
      while (good && !answer.ends_with("\r\n\r\nok") && socket.receive()) {
        answer += socket.take();
        good = answer.size() < 12 || answer.starts_with("HTTP/1.1 200");
      }
      good = good && answer.ends_with("\r\n\r\nok");
      ++(good ? answered : failed);
      if (!good || answer.contains("connection: close") || answer.contains("Connection: close")) {
        socket = adapters::testing::connect_local(front);
      }
      ::poll(nullptr, 0, 1);
    }
  }

  net::testing::ReactorThread thread_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::vector<std::thread> callers_;
  std::atomic<bool> begun_{false}, ending_{false};
};

}  // namespace spillway::app::balancing::testing
