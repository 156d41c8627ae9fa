#pragma once

// For tests only: a Consul that is none.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/timer_wheel.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::adapters::testing {

/// What Consul's HTTP API documentation says: agent service register with a TTL check, check/pass,
/// deregister, blocking queries on health/service. On the test's reactor.
class ConsulStandIn final : private net::Timer {
 public:
  struct Service {
    std::string json;  ///< Of the entry in health/service.
    base::Duration ttl{};
    base::Instant passing_until{};
  };

  ConsulStandIn(net::Reactor& reactor, std::string service)
      : reactor_(reactor), service_(std::move(service)) {
    std::vector<net::Server::Worker> workers;
    workers.push_back(
        {.reactor = reactor, .handler = [this](const net::Request& request, net::Reply reply) {
           answer(request, std::move(reply));
         }});
    server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
    server_->start();
    reactor_.timers().arm(*this, reactor_.now() + kLook);
  }

  [[nodiscard]] uint16_t port() const { return server_->port(); }

  /// Something happened: who waits is told.
  void touch() {
    ++index;
    wake();
  }

  void wake() {
    for (net::Reply& reply : std::exchange(waiting_, {})) {
      reply.send(members());
    }
  }

  /// The agent loses its state.
  void forget() {
    services.clear();
    touch();
  }

  std::map<std::string, Service> services;
  uint64_t index = 7;
  bool empty_address = false;    ///< Service.Address is "", as when it is the node's.
  bool returns_at_once = false;  ///< Blocking queries do not block.
  bool old_words = false;        ///< Unknown checks are 500, as before version 1.11.
  uint64_t reads = 0;
  std::vector<std::string> queries;
  std::string last_query, last_registration, last_token;
  size_t passes = 0;

 private:
  static constexpr base::Duration kLook = std::chrono::milliseconds(50);

  /// Services whose TTL is over are critical, and passing no more.
  void on_timer(base::Instant now) override {
    reactor_.timers().arm(*this, now + kLook);
    if (std::erase_if(services,
                      [now](const auto& one) { return now >= one.second.passing_until; }) > 0) {
      touch();
    }
  }

  void answer(const net::Request& request, net::Reply reply) {
    last_token = std::string(request.header("X-Consul-Token"));
    const std::string_view path = request.path();
    if (path == "/v1/agent/service/register" && request.method == "PUT") {
      enroll(request.body);
      reply.send({});
    } else if (path.starts_with("/v1/agent/check/pass/service:") && request.method == "PUT") {
      const auto found = services.find(std::string(path.substr(29)));
      if (found == services.end()) {
        reply.send({.status = static_cast<uint16_t>(old_words ? 500 : 404),
                    .body = old_words ? "CheckID \"service:a\" does not have associated TTL"
                                      : "Unknown check ID \"service:a\""});
        return;
      }
      ++passes;
      found->second.passing_until = reactor_.now() + found->second.ttl;
      reply.send({});
    } else if (path.starts_with("/v1/agent/service/deregister/") && request.method == "PUT") {
      if (services.erase(std::string(path.substr(29))) > 0) {
        touch();
      }
      reply.send({});
    } else if (path == "/v1/health/service/" + service_ && request.method == "GET") {
      ++reads;
      last_query = std::string(request.query());
      queries.push_back(last_query);
      const size_t at = last_query.find("index=");
      const uint64_t known =
          at == std::string::npos ? 0 : std::strtoull(last_query.c_str() + at + 6, nullptr, 10);
      if (known == index && !returns_at_once) {
        waiting_.push_back(std::move(reply));
      } else {
        reply.send(members());
      }
    } else {
      reply.send({.status = 404});
    }
  }

  void enroll(std::string_view body) {
    last_registration = std::string(body);
    const openrtb::Padded text(body);
    openrtb::Document json;
    ASSERT_TRUE(json.walk(text.view()));
    const auto root = json.root();
    const std::string id = json.string(json.find(root, "ID"));
    const std::string host = json.string(json.find(root, "Address"));
    Service& service = services[id];
    service.ttl = std::chrono::seconds(
        std::atoi(json.string(json.find(json.find(root, "Check"), "TTL")).c_str()));
    service.passing_until = reactor_.now() + service.ttl;
    service.json = "{\"Node\":{\"Node\":\"n\",\"Address\":\"" + host +
                   "\"},\"Service\":{\"ID\":\"" + id + "\",\"Service\":\"" + service_ +
                   "\",\"Address\":\"" + (empty_address ? std::string() : host) +
                   "\",\"Meta\":" + std::string(json.raw(json.find(root, "Meta"))) +
                   ",\"Port\":" + std::string(json.raw(json.find(root, "Port"))) +
                   ",\"Weights\":{\"Passing\":1,\"Warning\":1}},\"Checks\":[{\"CheckID\":"
                   "\"service:" +
                   id + "\",\"Status\":\"passing\"}]}";
    touch();
  }

  net::Response members() {
    std::string body = "[";
    for (const auto& [id, service] : services) {
      body += (body.size() > 1 ? "," : "") + service.json;
    }
    body += "]";
    net::Response response{.content_type = "application/json", .body = std::move(body)};
    response.headers.emplace_back("X-Consul-Index", std::to_string(index));
    return response;
  }

  net::Reactor& reactor_;
  std::string service_;
  std::vector<net::Reply> waiting_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace spillway::adapters::testing
