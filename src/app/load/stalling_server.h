#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"

namespace spillway::app {

/// A server that answers 204 at once, but for one stall in which everything waits for its end, and
/// every `deaf_every`th request, which it never answers.
class StallingServer final : private net::Timer {
 public:
  explicit StallingServer(net::Reactor& reactor, size_t deaf_every = 0)
      : reactor_(reactor), deaf_every_(deaf_every), server_("127.0.0.1:0", {}, workers()) {
    EXPECT_EQ(server_.error(), "");
    server_.start();
  }

  void stall(base::Instant from, base::Instant to) {
    from_ = from;
    to_ = to;
    reactor_.timers().arm(*this, to);
  }

  /// Every `every`th request from now on is answered with `status`.
  void answer(uint16_t status, size_t every) {
    other_status_ = status;
    other_every_ = every;
  }

  [[nodiscard]] uint64_t requests() const { return requests_; }

  /// Sum of the bodies' sizes, uncompressed.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  [[nodiscard]] uint16_t port() const { return server_.port(); }

 private:
  std::vector<net::Server::Worker> workers() {
    std::vector<net::Server::Worker> one;
    one.push_back(
        {.reactor = reactor_, .handler = [this](const net::Request& request, net::Reply reply) {
           bytes_ += request.body.size();
           on_request(std::move(reply));
         }});
    return one;
  }

  void on_request(net::Reply reply) {
    ++requests_;
    const base::Instant now = reactor_.refresh();
    if (deaf_every_ != 0 && requests_ % deaf_every_ == 0) {
      deaf_.push_back(std::move(reply));
    } else if (now >= from_ && now < to_) {
      waiting_.push_back(std::move(reply));
    } else if (other_every_ != 0 && requests_ % other_every_ == 0) {
      reply.send({.status = other_status_, .content_type = "", .headers = {}, .body = ""});
    } else {
      reply.send({.status = 204, .content_type = "", .headers = {}, .body = ""});
    }
  }

  void on_timer(base::Instant /*now*/) override {
    for (auto& reply : std::exchange(waiting_, {})) {
      reply.send({.status = 204, .content_type = "", .headers = {}, .body = ""});
    }
  }

  net::Reactor& reactor_;
  size_t deaf_every_;
  size_t requests_ = 0;
  uint16_t other_status_ = 204;
  size_t other_every_ = 0;
  uint64_t bytes_ = 0;
  base::Instant from_{};
  base::Instant to_{};
  std::vector<net::Reply> waiting_;
  std::vector<net::Reply> deaf_;
  net::Server server_;
};

}  // namespace spillway::app
