// Against a stand-in that does what Consul's HTTP API documentation says, as there is no Consul to
// be had here: agent service register with a TTL check, check/pass, deregister, blocking queries on
// health/service.
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

#include "adapters/registry.h"
#include "adapters/registry_fixture.h"
#include "adapters/registry_http.h"
#include "base/time.h"
#include "net/http.h"
#include "net/reactor.h"
#include "net/server.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::instance;
using testing::quick;

class ConsulStandIn {
 public:
  struct Service {
    std::string json;  ///< Of the entry in health/service.
    base::Duration ttl{};
    base::Instant passing_until{};
  };

  explicit ConsulStandIn(net::Reactor& reactor) : reactor_(reactor) {
    std::vector<net::Server::Worker> workers;
    workers.push_back(
        {.reactor = reactor, .handler = [this](const net::Request& request, net::Reply reply) {
           answer(request, std::move(reply));
         }});
    server_ = std::make_unique<net::Server>("127.0.0.1:0", net::ServerLimits{}, std::move(workers));
    server_->start();
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
      reply.send({});
    } else if (path.starts_with("/v1/agent/service/deregister/") && request.method == "PUT") {
      if (services.erase(std::string(path.substr(29))) > 0) {
        touch();
      }
      reply.send({});
    } else if (path == "/v1/health/service/ex" && request.method == "GET") {
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
    services[id].json = "{\"Node\":{\"Node\":\"n\",\"Address\":\"" + host +
                        "\"},\"Service\":{\"ID\":\"" + id + "\",\"Service\":\"ex\",\"Address\":\"" +
                        (empty_address ? std::string() : host) +
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
  std::vector<net::Reply> waiting_;
  std::unique_ptr<net::Server> server_;
};

class RegistryConsulTest : public testing::RegistryTest {
 protected:
  std::unique_ptr<Registry> open() {
    return consul_registry(reactor_, {.port = consul_.port(), .token = "secret"}, quick());
  }

  ConsulStandIn consul_{reactor_};
};

TEST_F(RegistryConsulTest, MembersComeStayAndGo) {
  auto a = open();
  auto b = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1, "z1", "big"));
  b->announce(instance("b", 2));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a b"; })) << reader->last_error();
  EXPECT_EQ(reader->view().instances[0], instance("a", 1, "z1", "big"));
  EXPECT_EQ(consul_.last_token, "secret");
  ASSERT_TRUE(run_until([&] { return consul_.passes >= 4; }));
  a->withdraw();
  ASSERT_TRUE(run_until([&] { return a->withdrawn() && ids(*reader) == "b"; }));
}

TEST_F(RegistryConsulTest, RegistersWithATtlCheckAndReadsPassingOnesByBlockingQueries) {
  auto a = open();
  auto reader = open();
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return a->announced(); }));
  EXPECT_NE(consul_.last_registration.find("\"TTL\":\"2s\""), std::string::npos);
  EXPECT_NE(consul_.last_registration.find("\"Status\":\"passing\""), std::string::npos);
  EXPECT_NE(consul_.last_registration.find("\"DeregisterCriticalServiceAfter\":\"60s\""),
            std::string::npos);
  watch(*reader);
  ASSERT_TRUE(run_until([&] { return consul_.reads == 2; }));
  EXPECT_EQ(consul_.last_query, "passing&index=8&wait=30s");
}

TEST_F(RegistryConsulTest, AnAgentThatForgotIsToldAgainInOldAndNewWords) {
  for (const bool old_words : {false, true}) {
    consul_.old_words = old_words;
    auto a = open();
    a->announce(instance("a", 1));
    ASSERT_TRUE(run_until([&] { return a->announced(); }));
    consul_.forget();
    ASSERT_TRUE(run_until([&] { return a->counters().lost.value() == 1 && a->announced(); }));
    EXPECT_EQ(a->counters().registrations.value(), 2U);
    EXPECT_EQ(consul_.services.size(), 1U);
  }
}

TEST_F(RegistryConsulTest, AnEmptyAddressIsTheNodes) {
  consul_.empty_address = true;
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  EXPECT_EQ(reader->view().instances[0].host, "10.0.0.1");
}

TEST_F(RegistryConsulTest, AReturnIsNoProofOfAChange) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a" && consul_.reads >= 3; }));
  const uint64_t changes = changes_;
  consul_.touch();  // somebody else's write
  consul_.wake();
  const uint64_t reads = consul_.reads;
  ASSERT_TRUE(run_until([&] { return consul_.reads > reads; }));
  consul_.wake();  // the wait is over, the index the same
  ASSERT_TRUE(run_until([&] { return reader->counters().idle_wakes.value() > 0; }));
  EXPECT_EQ(changes_, changes);
}

TEST_F(RegistryConsulTest, AnIndexThatGoesBackIsForgotten) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a" && consul_.reads >= 3; }));
  consul_.index = 2;  // restored from a snapshot
  consul_.wake();
  const uint64_t reads = consul_.reads;
  ASSERT_TRUE(run_until([&] { return consul_.reads > reads; }));
  EXPECT_EQ(consul_.queries.at(reads), "passing");
  EXPECT_EQ(reader->counters().index_resets.value(), 1U);
  EXPECT_EQ(ids(*reader), "a");
}

TEST_F(RegistryConsulTest, QueriesThatDoNotBlockAreNotABusyLoop) {
  consul_.returns_at_once = true;
  auto reader = open();
  watch(*reader);
  const base::Instant begin = reactor_.refresh();
  ASSERT_TRUE(run_until([&] { return consul_.reads >= 12; }));
  // The first and a burst of two, and one each 100 ms from then on.
  EXPECT_GE(reactor_.refresh() - begin, 800ms);
}

TEST_F(RegistryConsulTest, AnEmptySetIsConfirmedWithoutWaitingForAChange) {
  auto a = open();
  auto reader = open();
  watch(*reader);
  a->announce(instance("a", 1));
  ASSERT_TRUE(run_until([&] { return ids(*reader) == "a"; }));
  a->withdraw();
  ASSERT_TRUE(run_until([&] { return reader->held_size() == 0U; }));
  EXPECT_EQ(ids(*reader), "a");
  ASSERT_TRUE(run_until([&] { return ids(*reader).empty(); }));
  EXPECT_EQ(reader->counters().held[static_cast<size_t>(RegistryHold::kEmpty)].value(), 3U);
}

TEST_F(RegistryConsulTest, AnswersThatAreNoListAreCountedAndRetried) {
  auto reader = consul_registry(reactor_, {.port = consul_.port()},
                                {.service = "other", .poll = 100ms, .timeout = 2s});
  watch(*reader);
  ASSERT_TRUE(run_until([&] {
    return reader->counters().read_errors[static_cast<size_t>(RegistryErrc::kStatus)].value() >= 2;
  }));
  EXPECT_TRUE(reader->last_error().starts_with("health/service: HTTP 404"));
  EXPECT_FALSE(reader->view().known);
}

}  // namespace
}  // namespace spillway::adapters
