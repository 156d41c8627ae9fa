// An agent and its registry, of each kind: real Redis and etcd, and what Consul documents.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/consul_fixture.h"
#include "adapters/etcd_fixture.h"
#include "adapters/haproxy_fixture.h"
#include "adapters/redis_fixture.h"
#include "adapters/registry.h"
#include "adapters/registry_fixture.h"
#include "adapters/registry_http.h"
#include "adapters/registry_redis.h"
#include "agent/agent_process.h"
#include "agent/packets.h"
#include "agent/served_process.h"
#include "e2e/exchange_process.h"

namespace spillway::e2e {
namespace {

/// A running `spillway balancer`, killed at the end.
class BalancerProcess {
 public:
  explicit BalancerProcess(std::string_view config) : config_(config) {
    pid_ = ::fork();
    if (pid_ == 0) {
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, STDOUT_FILENO);
      ::execl(SPILLWAY_BINARY_DIR "/libexec/spillway-balancer", "spillway-balancer", "--config",
              config_.path().c_str(), nullptr);
      ::_exit(127);
    }
  }

  BalancerProcess(const BalancerProcess&) = delete;
  BalancerProcess& operator=(const BalancerProcess&) = delete;

  ~BalancerProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  TemporaryFile config_;
  pid_t pid_ = -1;
};

enum class Kind : uint8_t { kRedis, kEtcd, kConsul };

class AgentRegistry : public adapters::testing::RegistryTest,
                      public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    switch (GetParam()) {
      case Kind::kRedis:
        redis_ = std::make_unique<adapters::testing::RedisProcess>();
        ASSERT_TRUE(redis_->running()) << "redis-server does not run: tools/setup check";
        break;
      case Kind::kEtcd:
        etcd_ = std::make_unique<adapters::testing::EtcdProcess>();
        ASSERT_TRUE(etcd_->running()) << "etcd does not run: tools/setup check";
        break;
      case Kind::kConsul:
        consul_ = std::make_unique<adapters::testing::ConsulStandIn>(reactor_, "spillway");
        break;
    }
    reader_ = open();
    watch(*reader_);
  }

  std::unique_ptr<adapters::Registry> open() {
    auto settings = adapters::testing::quick();
    settings.service = "spillway";
    settings.confirm_reads = 1;
    if (redis_ != nullptr) {
      return adapters::redis_registry(reactor_, {.primary = redis_->address()}, settings, 1);
    }
    return etcd_ != nullptr
               ? adapters::etcd_registry(reactor_, {.port = etcd_->port()}, settings)
               : adapters::consul_registry(reactor_, {.port = consul_->port()}, settings);
  }

  /// "kind: …" and, where it has one, its URL.
  [[nodiscard]] std::string place() const {
    if (redis_ != nullptr) {
      return "kind: redis";
    }
    return etcd_ != nullptr
               ? fmt::format("kind: etcd, url: \"http://127.0.0.1:{}\"", etcd_->port())
               : fmt::format("kind: consul, url: \"http://127.0.0.1:{}\"", consul_->port());
  }

  /// An agent's, of a server at `host`:`port`.
  [[nodiscard]] std::string config(std::string_view more = {}, std::string_view host = "10.0.0.9",
                                   uint16_t port = 8080) const {
    const auto redis =
        redis_ != nullptr
            ? fmt::format("redis: {{ primary: \"{}\", samples: false }}\n", redis_->address())
            : "";
    return fmt::format(
        "law: {{ kind: static, static_weight: 137, period: 200ms }}\n"
        "drain: {{ wait: 2s, announce: 100ms }}\n{}"
        "registry: {{ {}, host: {}, port: {}, ttl: 3s, poll: 100ms }}\n{}",
        redis, place(), host, port, more);
  }

  /// A balancer's, beside the HAProxy at `socket`.
  [[nodiscard]] std::string balancer_config(const std::string& socket) const {
    const auto redis =
        redis_ != nullptr ? fmt::format(", redis: {{ primary: \"{}\" }}", redis_->address()) : "";
    return fmt::format(
        "balancer: {{ backend: ex, interval: 200ms, log_level: error }}\n"
        "admin: {{ listen: \"127.0.0.1:0\" }}\n"
        "haproxies: [{{ name: h1, socket: {} }}]\n"
        "servers: {{ check_inter: 100ms, agent_inter: 100ms }}\n"
        "registry: {{ {}, poll: 100ms, confirm_reads: 1{} }}\n",
        socket, place(), redis);
  }

  bool becomes_known(std::string_view all) {
    return run_until([&] { return ids(*reader_) == all; });
  }

  std::unique_ptr<adapters::testing::RedisProcess> redis_;
  std::unique_ptr<adapters::testing::EtcdProcess> etcd_;
  std::unique_ptr<adapters::testing::ConsulStandIn> consul_;
  std::unique_ptr<adapters::Registry> reader_;
};

TEST_P(AgentRegistry, KnowsTheAgentWhileItServesAndNotWhileItDrains) {
  AgentProcess agent("i-1", "zone: z1, class: c7i, class_by_cores: false", config());
  ASSERT_TRUE(agent.started()) << agent.log();
  ASSERT_TRUE(becomes_known("i-1")) << reader_->last_error() << agent.log();
  const auto instance = reader_->view().instances.at(0);
  EXPECT_EQ(instance.host, "10.0.0.9");
  EXPECT_EQ(instance.port, 8080);
  EXPECT_EQ(instance.agent_port, agent.port());
  EXPECT_EQ(instance.zone, "z1");
  EXPECT_EQ(instance.server_class, "c7i");
  EXPECT_TRUE(agent.order("/drain"));
  EXPECT_TRUE(becomes_known(""));
  EXPECT_TRUE(agent.order("/undrain"));
  EXPECT_TRUE(becomes_known("i-1"));
  agent.signal(SIGTERM);
  EXPECT_TRUE(becomes_known(""));
  EXPECT_EQ(agent.wait(), 0);
}

TEST_P(AgentRegistry, ForgetsAnAgentThatWasKilledWithItsTtl) {
  auto dead = std::make_unique<AgentProcess>("i-1", "", config());
  const AgentProcess living("i-2", "", config());
  ASSERT_TRUE(dead->started()) << dead->log();
  ASSERT_TRUE(becomes_known("i-1 i-2")) << reader_->last_error();
  dead.reset();
  EXPECT_TRUE(becomes_known("i-2"));
}

TEST_P(AgentRegistry, NamesWhoseSamplesCount) {
  const auto port = free_port(SOCK_DGRAM);
  const AgentProcess member("b", "", config());
  const AgentProcess agent("a", "",
                           config(fmt::format("peers: {{ listen: \"127.0.0.1:{}\" }}\n", port)));
  ASSERT_TRUE(agent.started()) << agent.log();
  ASSERT_TRUE(becomes_known("a b"));
  uint64_t sequence = 0;
  EXPECT_TRUE(run_until([&] {
    ++sequence;
    send_datagram(port, packet("b", 0.5, sequence));
    send_datagram(port, packet("stranger", 0.5, sequence));
    return agent.metric(
               "spillway_agent_samples_rejected_total{channel=\"view\",reason=\"not_a_member\"}") >
               0 &&
           agent.metric("spillway_agent_servers_known") == 1;
  })) << agent.metrics();
}

TEST_P(AgentRegistry, BringsAServerIntoHaproxyAndOutWithItsDrain) {
  const adapters::testing::HaproxyProcess haproxy(
      "\nlisten ex\n    bind FRONT\n    balance roundrobin\n");
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  const BalancerProcess balancer(balancer_config(haproxy.socket()));
  const ServedProcess server;
  const AgentProcess agent("i-1", "", config("", "127.0.0.1", server.port()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(run_until([&] {
    return haproxy.stat("i-1", "uweight") == "137" && haproxy.stat("i-1", "status") == "UP";
  }));
  EXPECT_TRUE(agent.order("/drain"));
  EXPECT_TRUE(run_until([&] { return haproxy.stat("i-1", "status").empty(); }));
}

std::string name_of(const ::testing::TestParamInfo<Kind>& kind) {
  constexpr std::array kNames{"Redis", "Etcd", "Consul"};
  return kNames.at(static_cast<size_t>(kind.param));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AgentRegistry,
                         ::testing::Values(Kind::kRedis, Kind::kEtcd, Kind::kConsul), name_of);

}  // namespace
}  // namespace spillway::e2e
