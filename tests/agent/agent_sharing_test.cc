// Agents and their peers, Redis, the metadata service and CloudWatch.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "adapters/metadata_fixture.h"
#include "adapters/redis_fixture.h"
#include "agent/agent_process.h"
#include "agent/haproxy_process.h"
#include "agent/packets.h"
#include "agent/served_process.h"
#include "e2e/metric_families.h"
#include "net/test_kit.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kQuick =
    "law: { period: 300ms, ramp: 0s, warm_up: 0s, smoothing: 0.3, max_step: 1, prior_band: 100, "
    "class_band: 100 }\nzone_view: { stale_after: 2s }\n";

std::string sections(const ServedProcess& server) {
  return fmt::format("{}load: {{ url: \"{}\" }}\ncpu: {{ proc_root: \"{}\" }}\n", kQuick,
                     server.load_url(), server.proc_root());
}

// Twice the requests at the same use of the processor: twice the capacity.
TEST(Agents, WeighTheirServersByCapacityThroughHaproxy) {
  ServedProcess large;
  ServedProcess small;
  large.successes = small.successes = 1'000;
  large.work(4'000, 0.5);
  small.work(2'000, 0.5);
  const auto a = free_port(SOCK_DGRAM);
  const auto b = free_port(SOCK_DGRAM);
  const auto peers = [](uint16_t own, uint16_t other) {
    return fmt::format("peers: {{ listen: \"127.0.0.1:{}\", list: [\"localhost:{}\"] }}\n", own,
                       other);
  };
  const AgentProcess first("a", "class: large", sections(large) + peers(a, b));
  const AgentProcess second("b", "class: small", sections(small) + peers(b, a));
  ASSERT_TRUE(first.started()) << first.log();
  ASSERT_TRUE(second.started()) << second.log();
  const HaproxyProcess haproxy(
      {{"a", large.port(), first.port()}, {"b", small.port(), second.port()}});
  ASSERT_TRUE(haproxy.up()) << "haproxy does not run: tools/setup check";
  const bool right = becomes(
      [&] {
        const double of_a = haproxy.state("a").weight;
        const double of_b = haproxy.state("b").weight;
        return of_a > 100 && of_b < 100 && of_b > 0 && of_a / of_b > 1.8 && of_a / of_b < 2.2;
      },
      30s);
  EXPECT_TRUE(right) << haproxy.state("a").weight << " " << haproxy.state("b").weight << "\n"
                     << first.status() << second.status();
  EXPECT_EQ(first.metric("spillway_agent_peers_live"), 1);
  const auto served_before = large.served + small.served;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(haproxy.caller().call("GET", "/").status(), 200);
  }
  EXPECT_GE(large.served + small.served, served_before + 300);
  EXPECT_GT(large.served, small.served);
}

TEST(Agents, HoldTheirWeightsWhenAPeerIsKilledAndForgiveNoForgery) {
  ServedProcess server;
  server.successes = 1'000;
  server.work(2'000, 0.5);
  const auto port = free_port(SOCK_DGRAM);
  const AgentProcess agent(
      "a", "", sections(server) + fmt::format("peers: {{ listen: \"127.0.0.1:{}\" }}\n", port));
  ASSERT_TRUE(agent.started()) << agent.log();
  uint64_t sequence = 0;
  EXPECT_TRUE(becomes([&] {
    send_datagram(port, packet("b", 0.5, ++sequence));
    return agent.metric("spillway_agent_peers_live") == 1 &&
           agent.metric("spillway_agent_weight") > 120;
  }));
  // The peer is silent from here on: its last mean is remembered.
  EXPECT_TRUE(becomes([&] {
    return agent.metric("spillway_agent_decision_reasons_total{reason=\"remembered_mean\"}") > 3;
  }));
  EXPECT_GT(agent.metric("spillway_agent_weight"), 120);
  send_datagram(port, packet("c", 0.1, 1, "another key of thirty-two bytes!"));
  send_datagram(port, packet("b", 0.1, 1));  // A replay: older than what is known.
  EXPECT_TRUE(becomes([&] {
    const auto page = agent.metrics();
    return page.find(R"(channel="peers",reason="bad_signature"} 1)") != std::string::npos &&
           page.find(R"(channel="view",reason="older"} 1)") != std::string::npos;
  })) << agent.metrics();
  EXPECT_EQ(agent.status().find("\"id\":\"c\""), std::string::npos);
}

TEST(Agents, DoNotBelieveASensorThatSaysIdleWhileAnswersAreSlow) {
  ServedProcess server;
  server.successes = 1'000;
  server.p95_ms = 12;
  server.work(2'000, 0.2);
  const auto port = free_port(SOCK_DGRAM);
  const AgentProcess agent(
      "a", "", sections(server) + fmt::format("peers: {{ listen: \"127.0.0.1:{}\" }}\n", port));
  ASSERT_TRUE(agent.started()) << agent.log();
  uint64_t sequence = 0;
  const auto after = [&](int decisions) {
    const double from = agent.metric("spillway_agent_decisions_total");
    return becomes([&, decisions] {
      send_datagram(port, packet("b", 0.6, ++sequence));
      return agent.metric("spillway_agent_decisions_total") >= from + decisions;
    });
  };
  const auto lied = [&] {
    return agent.metric("spillway_agent_decision_reasons_total{reason=\"lying\"}");
  };
  ASSERT_TRUE(after(6));
  EXPECT_EQ(lied(), 0) << agent.status();
  server.p95_ms = 100;
  ASSERT_TRUE(after(6));
  EXPECT_GE(lied(), 3) << agent.status();
  EXPECT_EQ(agent.metric("spillway_agent_latency_p95_seconds"), 0.1);
}

TEST(Agents, ShareThroughRedisAndHoldTheirWeightsWhileItIsAway) {
  adapters::testing::RedisProcess redis;
  ASSERT_TRUE(redis.running()) << "redis-server does not run: tools/setup check";
  ServedProcess large;
  ServedProcess small;
  large.successes = small.successes = 1'000;
  large.work(4'000, 0.5);
  small.work(2'000, 0.5);
  const auto store = fmt::format("redis: {{ primary: \"{}\" }}\n", redis.address());
  const AgentProcess first("a", "class: large", sections(large) + store);
  const AgentProcess second("b", "class: small", sections(small) + store);
  ASSERT_TRUE(first.started()) << first.log();
  ASSERT_TRUE(second.started()) << second.log();
  const auto settled = [&] {
    const double ratio =
        first.metric("spillway_agent_weight") / second.metric("spillway_agent_weight");
    return ratio > 1.8 && ratio < 2.2;
  };
  // Not on the way there: both must have known each other for a while.
  ASSERT_TRUE(becomes(
      [&] {
        return first.metric("spillway_agent_decisions_total") > 10 &&
               second.metric("spillway_agent_decisions_total") > 10 && settled();
      },
      30s))
      << first.status() << second.status();
  redis.kill();
  EXPECT_TRUE(becomes([&] {
    return first.metric("spillway_agent_decision_reasons_total{reason=\"remembered_mean\"}") > 5 &&
           first.metric("spillway_agent_redis_failures_total") > 5;
  }));
  EXPECT_TRUE(settled()) << first.status() << second.status();
  EXPECT_TRUE(first.poll().starts_with("up 1")) << first.poll();
  ASSERT_TRUE(redis.start());
  EXPECT_TRUE(becomes([&] { return first.metric("spillway_agent_peers_live") == 1; }, 30s));
}

/// The metadata service on a thread of its own.
class Metadata {
 public:
  Metadata() {
    thread_.sync(
        [this] { fake_ = std::make_unique<adapters::testing::FakeMetadata>(thread_.reactor); });
  }

  Metadata(const Metadata&) = delete;
  Metadata& operator=(const Metadata&) = delete;

  ~Metadata() {
    thread_.sync([this] { fake_.reset(); });
  }

  [[nodiscard]] uint16_t port() const { return fake_->port(); }

  void end() {
    thread_.sync(
        [this] { fake_->action = R"({"action":"terminate","time":"2026-01-31T12:00:00Z"})"; });
  }

 private:
  net::testing::ReactorThread thread_;
  std::unique_ptr<adapters::testing::FakeMetadata> fake_;
};

TEST(Agents, DrainOnASpotNoticeAndGoOnSayingSo) {
  Metadata metadata;
  AgentProcess agent("i-1", "",
                     fmt::format("law: {{ kind: equal, period: 200ms }}\n"
                                 "spot: {{ enabled: true, url: \"http://127.0.0.1:{}\", "
                                 "interval: 1s }}\n",
                                 metadata.port()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 100%\n"; }));
  metadata.end();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "drain\n"; }));
  EXPECT_EQ(agent.metric("spillway_agent_draining{reason=\"spot_interruption\"}"), 1);
  EXPECT_EQ(agent.wait(500ms), -1);
  EXPECT_TRUE(becomes([&] {
    return agent.log().find("event=spot_notice kind=interruption") != std::string::npos;
  }));
}

std::string whole(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Agents, WriteSamplesForTheReportAndMetricsForCloudwatch) {
  const TemporaryFile record;
  const TemporaryFile emf;
  const AgentProcess agent("i-1", fmt::format("record_file: \"{}\"", record.path()),
                           fmt::format("law: {{ kind: equal, period: 200ms }}\n"
                                       "emf: {{ file: \"{}\", interval: 1s }}\n",
                                       emf.path()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] {
    return whole(record.path()).find("\"id\":\"i-1\"") != std::string::npos &&
           whole(emf.path()).find('\n') != std::string::npos;
  }));
  EXPECT_TRUE(whole(emf.path()).starts_with("{\"_aws\":{\"Timestamp\":"));
}

TEST(Agents, CountTheLinesThatTheyCouldNotWrite) {
  const TemporaryFile record;
  const AgentProcess agent("i-1", fmt::format("record_file: \"{}/no_folder\"", record.path()),
                           fmt::format("law: {{ kind: equal, period: 200ms }}\n"
                                       "emf: {{ file: \"{}\", interval: 1s }}\n",
                                       record.path()));
  ASSERT_TRUE(agent.started()) << agent.log();
  const auto lines = [&](std::string_view file, std::string_view end) {
    return agent.metric(
        fmt::format(R"(spillway_agent_file_lines_total{{file="{}",end="{}"}})", file, end));
  };
  EXPECT_TRUE(becomes([&] { return lines("record", "lost") >= 2 && lines("emf", "written") >= 1; }))
      << agent.metrics();
  EXPECT_EQ(lines("record", "written"), 0);
  EXPECT_EQ(lines("emf", "lost"), 0);
}

TEST(Agents, MetricsAreDocumentedNameByNameWithTypeAndLabels) {
  const adapters::testing::RedisProcess redis;
  ASSERT_TRUE(redis.running()) << "redis-server does not run: tools/setup check";
  const Metadata metadata;
  const AgentProcess agent(
      "i-1", "",
      fmt::format("law: {{ period: 200ms }}\npeers: {{ listen: \"127.0.0.1:0\" }}\n"
                  "redis: {{ primary: \"{}\" }}\n"
                  "registry: {{ kind: redis, host: 127.0.0.1, port: 80 }}\n"
                  "spot: {{ enabled: true, url: \"http://127.0.0.1:{}\" }}\n",
                  redis.address(), metadata.port()));
  ASSERT_TRUE(agent.started()) << agent.log();
  expect_documented(exposed(agent.metrics()), documented("spillway_agent_"));
  EXPECT_TRUE(becomes([&] { return agent.metric("spillway_agent_registry_announced") == 1; }, 10s));
}

}  // namespace
}  // namespace spillway::e2e
