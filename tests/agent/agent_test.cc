#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "adapters/redis_fixture.h"
#include "agent/agent_process.h"
#include "agent/haproxy_process.h"
#include "agent/served_process.h"
#include "e2e/exchange_process.h"
#include "e2e/metric_families.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kPinned = "law: { kind: static, static_weight: 137, period: 200ms }\n";

TEST(Agent, ItsWeightIsHaproxysAndOrdersChangeIt) {
  const ServedProcess server;
  AgentProcess agent("i-1", "", kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  const HaproxyProcess haproxy({{"s", server.port(), agent.port()}});
  ASSERT_TRUE(haproxy.up()) << "haproxy does not run: tools/setup check";
  const auto weighs = [&](int weight) {
    return becomes([&, weight] { return haproxy.state("s").weight == weight; });
  };
  EXPECT_TRUE(weighs(137));
  EXPECT_TRUE(agent.order("/pin?weight=80"));
  EXPECT_TRUE(weighs(80));
  EXPECT_TRUE(agent.order("/unpin"));
  EXPECT_TRUE(weighs(137));
  EXPECT_TRUE(agent.order("/drain"));
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").admin == 0x08; }));
  EXPECT_TRUE(agent.order("/undrain"));
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").admin == 0; }));
  EXPECT_EQ(haproxy.state("s").operational, 2);
  EXPECT_GT(agent.metric("spillway_agent_polls_total{end=\"answered\"}"), 5);
}

// HAProxy 3.1 takes the absolute weight; 2.6 must not stumble over it.
TEST(Agent, TheAbsoluteWeightBesideTheRelativeOneLeavesHaproxyTheLatter) {
  const ServedProcess server;
  const AgentProcess agent("i-1", "absolute_weight: true", kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  const HaproxyProcess haproxy({{"s", server.port(), agent.port()}});
  ASSERT_TRUE(haproxy.up()) << "haproxy does not run: tools/setup check";
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 137% weight:137\n"; }));
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").weight == 137; }));
  EXPECT_EQ(haproxy.state("s").operational, 2);
  EXPECT_EQ(haproxy.state("s").admin, 0);
}

TEST(Agent, ADryRunDecidesAndLeavesHaproxyAlone) {
  const ServedProcess server;
  const AgentProcess agent("i-1", "dry_run: true", kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.metric("spillway_agent_weight") == 137; }));
  EXPECT_EQ(agent.poll(), "up\n");
  EXPECT_TRUE(agent.order("/drain"));
  EXPECT_EQ(agent.poll(), "up\n");
  EXPECT_TRUE(becomes([&] { return agent.log().find("weight=137.00") != std::string::npos; }))
      << agent.log();
}

TEST(Agent, OrdersByFileAndSignalHoldUntilTheyAreTakenBack) {
  const TemporaryFile orders("pin 42\n");
  const AgentProcess agent("i-1", fmt::format("orders_file: \"{}\"", orders.path()), kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 42%\n"; }));
  orders.write("pin 42\nfreeze please\n");
  EXPECT_TRUE(becomes([&] { return agent.metric("spillway_agent_orders_refused_total") == 1; }));
  EXPECT_EQ(agent.poll(), "up 42%\n");
  orders.write("drain\n");
  EXPECT_TRUE(becomes([&] { return agent.poll() == "drain\n"; }));
  orders.write("");
  EXPECT_TRUE(becomes([&] { return agent.poll().starts_with("ready up "); }));
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 137%\n"; }));
  agent.signal(SIGUSR1);
  EXPECT_TRUE(
      becomes([&] { return agent.metric("spillway_agent_orders{order=\"freeze\"}") == 1; }));
  agent.signal(SIGUSR1);
  EXPECT_TRUE(
      becomes([&] { return agent.metric("spillway_agent_orders{order=\"freeze\"}") == 0; }));
}

TEST(Agent, TakesNoOrdersFromWebPagesNorWrongOnes) {
  const AgentProcess agent("i-1", "", kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  const Caller page{.port = agent.admin().port,
                    .extra_headers = "Origin: https://evil.example\r\n"};
  EXPECT_EQ(page.call("POST", "/freeze").status(), 403);
  EXPECT_EQ(agent.admin().call("GET", "/freeze").status(), 405);
  EXPECT_EQ(agent.admin().call("POST", "/pin?weight=0").status(), 400);
  EXPECT_EQ(agent.admin().call("POST", "/pin").status(), 400);
  EXPECT_EQ(agent.admin().call("POST", "/status").status(), 405);
  EXPECT_EQ(agent.admin().call("GET", "/nothing").status(), 404);
}

TEST(Agent, SighupTakesAnotherLawAndKeepsTheOldOneWhenTheFileIsBad) {
  AgentProcess agent("i-1", "", kPinned);
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 137%\n"; }));
  agent.edit("static_weight: 137", "static_weight: 1370");
  agent.signal(SIGHUP);
  EXPECT_TRUE(
      becomes([&] { return agent.metric("spillway_agent_reloads_total{end=\"refused\"}") == 1; }));
  EXPECT_NE(agent.admin().call("POST", "/admin/reload").body.find("law.static_weight"),
            std::string::npos);
  const auto ticks = agent.metric("spillway_agent_ticks_total");
  EXPECT_TRUE(becomes([&] { return agent.metric("spillway_agent_ticks_total") > ticks + 2; }));
  EXPECT_EQ(agent.poll(), "up 137%\n");
  agent.edit("static_weight: 1370", "static_weight: 90");
  agent.signal(SIGHUP);
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 90%\n"; }));
  agent.edit("period: 200ms", "period: 300ms");
  EXPECT_NE(agent.admin().call("POST", "/admin/reload").body.find("wants a restart"),
            std::string::npos);
}

TEST(Agent, LeavesWhenNothingIsInFlightAndIsReadyWhenItComesBack) {
  ServedProcess server;
  server.successes = 1'000;
  server.in_flight = 3;
  const TemporaryFile state;
  const auto keys = fmt::format("state_file: \"{}\"", state.path());
  const auto more = fmt::format(
      "{}load: {{ url: \"{}\" }}\n"
      "drain: {{ wait: 10s, announce: 300ms, ready_for: 2s }}\n",
      kPinned, server.load_url());
  const auto port = free_port(SOCK_STREAM);
  AgentProcess agent("i-1", keys, more, port);
  ASSERT_TRUE(agent.started()) << agent.log();
  const HaproxyProcess haproxy({{"s", server.port(), port}});
  ASSERT_TRUE(haproxy.up()) << "haproxy does not run: tools/setup check";
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").weight == 137; }));
  agent.signal(SIGTERM);
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").admin == 0x08; }));
  EXPECT_EQ(agent.wait(600ms), -1) << "ended with requests in flight";
  server.in_flight = 0;
  server.successes = server.successes + 3;
  EXPECT_EQ(agent.wait(), 0);
  EXPECT_EQ(haproxy.state("s").admin, 0x08);
  AgentProcess next("i-1", keys, more, port);
  ASSERT_TRUE(next.started()) << next.log();
  EXPECT_TRUE(becomes([&] { return haproxy.state("s").admin == 0; }));
  EXPECT_EQ(haproxy.state("s").weight, 137);
  EXPECT_TRUE(becomes([&] { return next.poll() == "up 137%\n"; }));
}

TEST(Agent, EndsInTimeThoughRequestsHangAndAtOnceWhenToldTwice) {
  ServedProcess server;
  server.successes = 1'000;
  server.in_flight = 1;
  const auto with_wait = [&](std::string_view wait) {
    return fmt::format("{}load: {{ url: \"{}\" }}\ndrain: {{ wait: {}, announce: 100ms }}\n",
                       kPinned, server.load_url(), wait);
  };
  AgentProcess agent("i-1", "", with_wait("600ms"));
  ASSERT_TRUE(agent.started()) << agent.log();
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0);
  AgentProcess patient("i-1", "", with_wait("10m"));
  ASSERT_TRUE(patient.started()) << patient.log();
  patient.signal(SIGTERM);
  EXPECT_TRUE(becomes([&] { return patient.poll() == "drain\n"; }));
  patient.signal(SIGTERM);
  EXPECT_EQ(patient.wait(), 0);
}

TEST(Agent, ANewcomerWaitsForItsGateAndOneAtWorkKeepsItsWeight) {
  ServedProcess newcomer;
  newcomer.ready = false;
  const auto law = std::string("law: { period: 200ms, ramp: 0s, warm_up: 0s }\n");
  const AgentProcess agent("i-1", "",
                           fmt::format("{}load: {{ url: \"{}\", ready_url: \"{}\" }}\n", law,
                                       newcomer.load_url(), newcomer.ready_url()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 1%\n"; }));
  EXPECT_TRUE(becomes([&] { return agent.metric("spillway_agent_ticks_total") > 4; }));
  EXPECT_EQ(agent.poll(), "up 1%\n");
  EXPECT_EQ(agent.metric("spillway_agent_warming"), 1);
  newcomer.ready = true;
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 100%\n"; }));

  ServedProcess old;
  old.successes = 100'000;
  const AgentProcess beside("i-2", "",
                            fmt::format("law: {{ period: 1s }}\nload: {{ url: \"{}\" }}\n"
                                        "peers: {{ listen: \"127.0.0.1:0\" }}\n",
                                        old.load_url()));
  ASSERT_TRUE(beside.started()) << beside.log();
  EXPECT_EQ(beside.poll(), "up\n");
}

TEST(Agent, AServerThatStopsTellingLosesItsSensorNotItsPolls) {
  ServedProcess server;
  server.successes = 100'000;
  const AgentProcess agent(
      "i-1", "",
      fmt::format("law: {{ period: 200ms }}\nload: {{ url: \"{}\" }}\n", server.load_url()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_TRUE(becomes([&] { return agent.poll() == "up 100%\n"; }));
  server.tells = false;
  EXPECT_TRUE(becomes([&] {
    return agent.metric("spillway_agent_decision_reasons_total{reason=\"sensor_dead\"}") > 2;
  }));
  EXPECT_GT(
      agent.metric("spillway_agent_sensor_errors_total{sensor=\"load\",reason=\"status\"}") +
          agent.metric("spillway_agent_sensor_errors_total{reason=\"status\",sensor=\"load\"}"),
      0);
  EXPECT_EQ(agent.poll(), "up 100%\n");
}

TEST(Agent, AQuotaThatChangesMakesItAServerOfAnotherClass) {
  const adapters::testing::ScratchFolder folder;
  const auto put = [&](const std::string& name, std::string_view text) {
    std::ofstream(folder.path() + "/web/" + name) << text;
  };
  std::filesystem::create_directory(folder.path() + "/web");
  put("cpu.stat", "usage_usec 1000\n");
  put("cpu.max", "150000 100000\n");
  const AgentProcess agent("i-1", "class: c7i",
                           fmt::format("law: {{ kind: equal, period: 200ms }}\n"
                                       "cpu: {{ cgroup: /web, cgroup_root: \"{}\" }}\n",
                                       folder.path()));
  ASSERT_TRUE(agent.started()) << agent.log();
  EXPECT_NE(agent.status().find("\"class\":\"c7i-1.5\""), std::string::npos) << agent.status();
  put("cpu.max", "50000 100000\n");
  EXPECT_TRUE(becomes([&] {
    return agent.status().find("\"class\":\"c7i-0.5\"") != std::string::npos;
  })) << agent.status();
}

TEST(Agent, SaysWhatIsWrongWithItsConfiguration) {
  const TemporaryFile bad("agent: { id: \"a b\" }\npears: {}\n");
  const std::string program = SPILLWAY_BINARY_DIR "/libexec/spillway-agent";
  const auto said = run_program({program, "--config", bad.path(), "--check"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_NE(said.err.find(":1: agent.id: must be"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find(":2: pears"), std::string::npos) << said.err;
  const auto json = run_program({program, "--config", bad.path(), "--check", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_TRUE(json.out.starts_with("{\"ok\":false,\"problems\":[{\"key\":\"agent.id\",\"line\":1"))
      << json.out;
  const TemporaryFile good("agent: { id: a }\n");
  EXPECT_EQ(run_program({program, "--config", good.path(), "--check"}).exit_code, 0);
  EXPECT_EQ(run_program({program}).exit_code, 2);
  EXPECT_NE(run_program({program, "--help"}).out.find("examples:"), std::string::npos);
}

}  // namespace
}  // namespace spillway::e2e
