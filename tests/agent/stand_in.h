#pragma once

// For tests only: an HTTP server in a sentence.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "net/http.h"
#include "net/server.h"
#include "net/test_kit.h"

namespace spillway::e2e {

/// Answers requests on the loopback, on a thread of its own, by a function.
class HttpStandIn {
 public:
  explicit HttpStandIn(std::function<net::Response(const net::Request&)> answer) {
    thread_.sync([this, &answer] {
      std::vector<net::Server::Worker> workers;
      workers.push_back(
          {.reactor = thread_.reactor,
           .handler = [answer = std::move(answer)](const net::Request& request, net::Reply reply) {
             net::Response response = answer(request);
             reply.send(std::move(response));
           }});
      server_ =
          std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
      server_->start();
    });
  }

  HttpStandIn(const HttpStandIn&) = delete;
  HttpStandIn& operator=(const HttpStandIn&) = delete;

  ~HttpStandIn() {
    thread_.sync([this] { server_.reset(); });
  }

  [[nodiscard]] uint16_t port() const { return server_->port(); }

  /// Runs `work` on its thread, between two answers.
  template <typename Work>
  void sync(Work work) {
    thread_.sync(std::move(work));
  }

 private:
  net::testing::ReactorThread thread_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace spillway::e2e
