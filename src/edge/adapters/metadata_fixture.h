#pragma once

// For tests only: EC2's instance metadata.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"

namespace spillway::adapters::testing {

/// The metadata service as EC2 documents it, on the loopback and the thread of `reactor`.
class FakeMetadata {
 public:
  explicit FakeMetadata(net::Reactor& reactor) {
    std::vector<net::Server::Worker> workers;
    workers.push_back(
        {.reactor = reactor, .handler = [this](const net::Request& request, net::Reply reply) {
           net::Response response = answer(request);
           reply.send(std::move(response));
         }});
    server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
    server_->start();
  }

  [[nodiscard]] uint16_t port() const { return server_->port(); }

  std::string action, rebalance;  ///< Empty: 404.
  std::string token = "AQAEAA==";
  size_t tokens_given = 0;
  std::string ttl;
  size_t looks = 0;

 private:
  net::Response answer(const net::Request& request) {
    const auto path = request.path();
    if (path == "/latest/api/token") {
      if (request.method != "PUT" ||
          request.header("X-aws-ec2-metadata-token-ttl-seconds").empty()) {
        return {.status = 400};
      }
      ttl = request.header("X-aws-ec2-metadata-token-ttl-seconds");
      ++tokens_given;
      return {.status = 200, .content_type = "text/plain", .body = token};
    }
    if (request.header("X-aws-ec2-metadata-token") != token) {
      return {.status = 401};
    }
    const bool is_action = path == "/latest/meta-data/spot/instance-action";
    const bool is_rebalance = path == "/latest/meta-data/events/recommendations/rebalance";
    looks += is_action ? 1 : 0;
    const auto& text = is_action ? action : rebalance;
    if ((!is_action && !is_rebalance) || text.empty()) {
      return {.status = 404};
    }
    return {.status = 200, .content_type = "application/json", .body = text};
  }

  std::unique_ptr<net::Server> server_;
};

}  // namespace spillway::adapters::testing
