// The balancer's rounds against a real HAProxy, with agents and back ends of the test's own.
#include "app/balancer/haproxy_watch.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "adapters/haproxy_fixture.h"
#include "app/balancer/balancer_config.h"
#include "app/balancer/change.h"
#include "app/balancer/fleet.h"
#include "app/balancer/membership.h"
#include "app/balancer/picture.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/stream.h"
#include "net/test_kit.h"
#include "observe/log.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using adapters::testing::connect_local;
using adapters::testing::eventually;
using adapters::testing::HaproxyProcess;
using adapters::testing::Speaker;

class HaproxyWatchTest : public ::testing::Test {
 protected:
  HaproxyWatchTest() {
    config_.backend = "ex";
    config_.watchdog.dead_after = 300ms;
    config_.membership.check_inter = 100ms;
    config_.membership.agent_inter = 100ms;
    config_.command_timeout = 20s;
  }

  void watch(const HaproxyProcess& haproxy) {
    watch_ = std::make_unique<HaproxyWatch>(reactor_,
                                            HaproxyPlace{.name = "h", .socket = haproxy.socket()},
                                            config_, fleet_, log_, true);
  }

  bool round() {
    bool good = false;
    EXPECT_TRUE(watch_->round([&](bool ok) {
      good = ok;
      reactor_.stop();
    }));
    reactor_.run();
    return good;
  }

  bool rounds_until(const std::function<bool()>& condition) {
    return eventually([&] {
      round();
      return condition();
    });
  }

  static adapters::RegistryInstance member(const std::string& id, uint16_t port,
                                           uint16_t agent_port) {
    return {.id = id, .host = "127.0.0.1", .port = port, .agent_port = agent_port};
  }

  [[nodiscard]] uint64_t changes(ChangeKind kind) const {
    return watch_->counters().changes.at(static_cast<size_t>(kind)).value();
  }

  [[nodiscard]] uint64_t declined(Declined why) const {
    return watch_->counters().declined.at(static_cast<size_t>(why)).value();
  }

  static std::string server(const std::string& name, const Speaker& backend, const Speaker& agent) {
    return fmt::format(
        "    server {} 127.0.0.1:{} weight 100 check inter 100ms agent-check agent-inter 100ms "
        "agent-send \"x\\n\" agent-port {}\n",
        name, backend.port(), agent.port());
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
  net::UniqueFd null_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  observe::Log log_{observe::Level::kError, null_.fd(), 64};
  BalancerConfig config_;
  Fleet fleet_;
  std::unique_ptr<HaproxyWatch> watch_;
};

constexpr const char* kListen = "\nlisten ex\n    bind FRONT\n    balance roundrobin\n";

TEST_F(HaproxyWatchTest, ADeadAgentLosesItsWeightAndGetsItBackWhenItSpeaks) {
  const Speaker backend(Speaker::Kind::kHttp);
  auto a = std::make_unique<Speaker>(Speaker::Kind::kAgent, "up 20%\n");
  const Speaker b(Speaker::Kind::kAgent, "up 90%\n");
  const HaproxyProcess haproxy(kListen + server("a", backend, *a) + server("b", backend, b));
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("a", "uweight") == "20" && haproxy.stat("b", "uweight") == "90";
  }));
  EXPECT_EQ(changes(ChangeKind::kReset), 0U);
  a->stop();
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "uweight") == "90"; }));
  EXPECT_EQ(changes(ChangeKind::kReset), 1U);
  EXPECT_TRUE(watch_->watchdog().is_dead("a"));

  // It comes back at another port, as a test's ports are, and names no weight.
  const Speaker again(Speaker::Kind::kAgent, "up\n");
  (void)haproxy.run(fmt::format("set server ex/a agent-port {}", again.port()));
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "uweight") == "20"; }));
  EXPECT_EQ(changes(ChangeKind::kRestore), 1U);
  EXPECT_EQ(watch_->watchdog().dead(), 0U);
}

TEST_F(HaproxyWatchTest, ARestartBringsServersAndWeightsBackWithinTwoRounds) {
  const Speaker backend(Speaker::Kind::kHttp);
  Speaker agent(Speaker::Kind::kAgent, "up 40%\n");
  config_.watchdog.enabled = false;  // the agent is dead at the restart, so that only we can know
  HaproxyProcess haproxy(kListen + server("a", backend, agent));
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  fleet_ = {.reconciles = true,
            .known = true,
            .members = {member("a", backend.port(), agent.port()),
                        member("dynamic", backend.port(), agent.port())}};
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("a", "uweight") == "40" && haproxy.stat("dynamic", "uweight") == "40";
  }));
  ASSERT_TRUE(round());
  agent.stop();
  haproxy.kill();
  EXPECT_FALSE(round());
  EXPECT_NE(watch_->error(), "");
  haproxy.start();
  ASSERT_TRUE(haproxy.running());
  EXPECT_EQ(haproxy.stat("a", "uweight"), "100");
  round();
  round();
  EXPECT_EQ(haproxy.stat("a", "uweight"), "40");
  EXPECT_EQ(haproxy.stat("dynamic", "uweight"), "40");
  EXPECT_EQ(changes(ChangeKind::kPush), 1U);
  EXPECT_EQ(watch_->counters().restarts.value(), 1U);
}

TEST_F(HaproxyWatchTest, ADynamicServerServesAndGoesOnceItsLastConnectionHasEnded) {
  net::testing::RawListener backend;
  const Speaker agent(Speaker::Kind::kAgent);
  const HaproxyProcess haproxy(kListen);
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  fleet_ = {
      .reconciles = true, .known = true, .members = {member("a", backend.port(), agent.port())}};
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "status") == "UP"; }));

  auto caller = connect_local(haproxy.front());
  caller.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  net::testing::RawSocket request = backend.accept();
  while (!request.receive()) {  // a health check before it
    request = backend.accept();
  }
  fleet_.members = {};
  fleet_.known = true;
  ASSERT_TRUE(rounds_until([&] { return declined(Declined::kStillConnected) >= 2; }));
  EXPECT_EQ(changes(ChangeKind::kRemove), 0U);
  request.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_TRUE(caller.receive_message().starts_with("HTTP/1.1 200"));
  caller.close();
  request.close();
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "status").empty(); }));
  EXPECT_EQ(changes(ChangeKind::kRemove), 1U);
}

TEST_F(HaproxyWatchTest, MaintenanceByPeopleIsRespected) {
  const Speaker backend(Speaker::Kind::kHttp);
  const Speaker agent(Speaker::Kind::kAgent);
  const HaproxyProcess haproxy(kListen + server("a", backend, agent));
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  fleet_ = {
      .reconciles = true, .known = true, .members = {member("a", backend.port(), agent.port())}};
  watch(haproxy);
  (void)haproxy.run("set server ex/a state maint");
  ASSERT_TRUE(round());
  ASSERT_TRUE(round());
  EXPECT_EQ(haproxy.stat("a", "status"), "MAINT");
  EXPECT_EQ(declined(Declined::kByPeople), 2U);
}

TEST_F(HaproxyWatchTest, SlotsTakeInstancesAndForgetThem) {
  const Speaker backend(Speaker::Kind::kHttp);
  const Speaker agent(Speaker::Kind::kAgent, "up 30%\n");
  const HaproxyProcess haproxy(
      std::string(kListen) +
      "    default-server weight 100 check inter 100ms agent-check agent-inter 100ms agent-send "
      "\"x\\n\"\n    server-template srv 1-3 0.0.0.0:1 disabled agent-port 1\n");
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  config_.membership.mode = MembershipSettings::Mode::kSlots;
  fleet_ = {
      .reconciles = true, .known = true, .members = {member("a", backend.port(), agent.port())}};
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("srv1", "uweight") == "30"; }));
  EXPECT_EQ(watch_->plan().free_slots, 2U);
  auto caller = connect_local(haproxy.front());
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("srv1", "status") == "UP"; }));
  caller.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(caller.receive_message().starts_with("HTTP/1.1 200"));

  fleet_.members = {};
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("srv1", "status") == "MAINT"; }));
  // A balancer that is started anew knows the slot for free, though it is in maintenance.
  watch(haproxy);
  fleet_.members = {member("b", backend.port(), agent.port())};
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("srv1", "status") == "UP"; }));
  EXPECT_EQ(declined(Declined::kByPeople), 0U);
}

TEST_F(HaproxyWatchTest, TheProofOfEffectSeesSharesByWeight) {
  const Speaker backend(Speaker::Kind::kHttp);
  const Speaker a(Speaker::Kind::kAgent, "up 50%\n");
  const Speaker b(Speaker::Kind::kAgent, "up 150%\n");
  const HaproxyProcess haproxy(kListen + server("a", backend, a) + server("b", backend, b));
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  config_.effect = {.window = 1s, .tolerance_ratio = 0.05, .least_requests = 100};
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("a", "uweight") == "50" && haproxy.stat("b", "uweight") == "150";
  }));
  watch(haproxy);
  auto caller = connect_local(haproxy.front());
  bool served = true;
  ASSERT_TRUE(rounds_until([&] {
    for (int i = 0; i < 40; ++i) {
      caller.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const std::string answer = caller.take() + (caller.receive() ? caller.take() : "");
      served = served && answer.starts_with("HTTP/1.1 200");
    }
    return watch_->effect().has_value();
  }));
  EXPECT_TRUE(served);
  EXPECT_NEAR(watch_->effect()->servers.at("a").expected, 0.25, 0.01);
  EXPECT_NEAR(watch_->effect()->servers.at("a").received, 0.25, 0.05);
  EXPECT_EQ(watch_->effect()->cause, EffectCause::kNone);
}

TEST_F(HaproxyWatchTest, AMissingBackendIsNamed) {
  const HaproxyProcess haproxy(kListen);
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  config_.backend = "other";
  watch(haproxy);
  EXPECT_FALSE(round());
  EXPECT_EQ(watch_->error(), "there is no backend other");
}

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
    auto socket = connect_local(front);
    while (!ending_) {
      socket.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
      std::string answer;
      while (!answer.ends_with("\r\n\r\nok") && socket.receive()) {
        answer += socket.take();
      }
      if (answer.starts_with("HTTP/1.1 200")) {
        ++answered;
      } else {
        ++failed;
        socket = connect_local(front);
      }
      ::poll(nullptr, 0, 1);
    }
  }

  net::testing::ReactorThread thread_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::vector<std::thread> callers_;
  std::atomic<bool> begun_{false}, ending_{false};
};

class Churn : public HaproxyWatchTest {};

TEST_F(Churn, AThousandServersComeAndGoUnderLoadWithoutAReloadAndWithoutALostRequest) {
  constexpr size_t kStable = 4;
  constexpr size_t kPerRound = 20;
  constexpr size_t kCycles = 1'000;
  const Speaker agent(Speaker::Kind::kAgent, "up 100%\n");
  const HaproxyProcess haproxy(kListen);
  if (!haproxy.running()) {
    GTEST_SKIP() << "there is no haproxy on this machine";
  }
  Load load(kStable, haproxy.front(), 4);
  config_.membership.check_inter = 50ms;
  fleet_ = {.reconciles = true, .known = true, .members = {}};
  for (size_t i = 0; i < kStable; ++i) {
    fleet_.members.push_back(member("stable-" + std::to_string(i), load.port(i), agent.port()));
  }
  const std::vector<adapters::RegistryInstance> stable = fleet_.members;
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("stable-0", "status") == "UP" && haproxy.stat("stable-3", "status") == "UP";
  }));
  const uint64_t pid = watch_->picture()->info.pid;
  const auto picked_by_churn = [&] {
    uint64_t picked = 0;
    if (watch_->picture() == nullptr) {
      return picked;
    }
    for (const auto& [name, server] : watch_->picture()->servers) {
      picked += name.starts_with("churn-") && !server.in_forced_maint() ? server.stat.picked : 0;
    }
    return picked;
  };
  uint64_t served = 0;
  load.begin();
  for (size_t cycle = 0; cycle < kCycles; cycle += kPerRound) {
    fleet_.members = stable;
    for (size_t i = cycle; i < cycle + kPerRound; ++i) {
      fleet_.members.push_back(member("churn-" + std::to_string(i), load.port(i), agent.port()));
    }
    ASSERT_TRUE(round());
    // They are removed once they have served.
    ASSERT_TRUE(rounds_until([&] { return picked_by_churn() >= kPerRound; })) << cycle;
    served += picked_by_churn();
  }
  fleet_.members = stable;
  ASSERT_TRUE(rounds_until([&] { return watch_->picture()->servers.size() == kStable; }));
  load.end();
  EXPECT_EQ(load.failed, 0U);
  EXPECT_GE(served, kCycles);
  EXPECT_GE(load.answered, served);
  EXPECT_EQ(changes(ChangeKind::kAdd), kStable + kCycles);
  EXPECT_EQ(changes(ChangeKind::kRemove), kCycles);
  EXPECT_EQ(declined(Declined::kRefused), 0U);
  EXPECT_EQ(watch_->picture()->info.pid, pid);
  RecordProperty("requests", std::to_string(load.answered));
}

}  // namespace
}  // namespace spillway::app::balancing
