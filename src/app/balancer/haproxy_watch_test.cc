// The balancer's rounds against a real HAProxy, with agents and back ends of the test's own.
#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "adapters/haproxy_fixture.h"
#include "app/balancer/change.h"
#include "app/balancer/haproxy_watch_fixture.h"
#include "app/balancer/membership.h"
#include "net/test_kit.h"

namespace spillway::app::balancing {
namespace {

using namespace std::chrono_literals;
using adapters::testing::connect_local;
using testing::HaproxyProcess;
using testing::HaproxyWatchTest;
using testing::kListen;
using testing::Speaker;

TEST_F(HaproxyWatchTest, ADeadAgentLosesItsWeightAndGetsItBackWhenItSpeaks) {
  const Speaker backend(Speaker::Kind::kHttp);
  auto a = std::make_unique<Speaker>(Speaker::Kind::kAgent, "up 20%\n");
  const Speaker b(Speaker::Kind::kAgent, "up 90%\n");
  const HaproxyProcess haproxy(kListen + server("a", backend, *a) + server("b", backend, b));
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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

TEST_F(HaproxyWatchTest, ADrainThatADeadAgentLeftBehindIsEndedAndAPersonsStands) {
  const Speaker backend(Speaker::Kind::kHttp);
  auto a = std::make_unique<Speaker>(Speaker::Kind::kAgent, "up 80%\n");
  auto b = std::make_unique<Speaker>(Speaker::Kind::kAgent, "up 80%\n");
  const HaproxyProcess haproxy(kListen + server("a", backend, *a) + server("b", backend, *b));
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  config_.watchdog.drain_after = 1s;
  watch(haproxy);
  ASSERT_TRUE(rounds_until([&] {
    return haproxy.stat("a", "uweight") == "80" && haproxy.stat("b", "uweight") == "80";
  }));
  ASSERT_TRUE(round());
  a->say("drain\n");
  (void)haproxy.run("set server ex/b state drain");
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "status").starts_with("DRAIN"); }));
  ASSERT_TRUE(round());
  EXPECT_TRUE(watch_->watchdog().is_drained_by_agent("a"));
  EXPECT_FALSE(watch_->watchdog().is_drained_by_agent("b"));
  a->stop();
  b->stop();
  ASSERT_TRUE(rounds_until([&] { return haproxy.stat("a", "status") == "UP"; }));
  EXPECT_TRUE(haproxy.stat("b", "status").starts_with("DRAIN"));
  EXPECT_EQ(changes(ChangeKind::kUndrain), 1U);
}

TEST_F(HaproxyWatchTest, ARestartBringsServersAndWeightsBackWithinTwoRounds) {
  const Speaker backend(Speaker::Kind::kHttp);
  Speaker agent(Speaker::Kind::kAgent, "up 40%\n");
  config_.watchdog.enabled = false;  // the agent is dead at the restart, so that only we can know
  HaproxyProcess haproxy(kListen + server("a", backend, agent));
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
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
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  config_.backend = "other";
  watch(haproxy);
  EXPECT_FALSE(round());
  EXPECT_EQ(watch_->error(), "there is no backend other");
}

}  // namespace
}  // namespace spillway::app::balancing
