#include "adapters/haproxy_client.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "adapters/haproxy_fixture.h"
#include "adapters/haproxy_report.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/test_kit.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using testing::HaproxyProcess;

constexpr const char* kSection = R"(
listen ex
    bind FRONT
    server b1 127.0.0.1:1 weight 100
    server b2 127.0.0.1:2 weight 100 disabled
)";

class HaproxyClientTest : public ::testing::Test {
 protected:
  HaproxyAnswers run(HaproxyClient& client, std::vector<std::string> commands) {
    HaproxyAnswers out = std::unexpected(HaproxyFailure{.text = "never answered"});
    client.run(std::move(commands), [&](const HaproxyAnswers& answers) {
      out = answers;
      reactor_.stop();
    });
    reactor_.run();
    return out;
  }

  std::string address_of(const net::testing::RawListener& listener) {
    return "127.0.0.1:" + std::to_string(listener.port());
  }

  net::OsClock clock_;
  net::Reactor reactor_{clock_};
};

TEST_F(HaproxyClientTest, TellsTheAnswersOfABatchApart) {
  const HaproxyProcess haproxy(kSection);
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  HaproxyClient client(reactor_, haproxy.socket(), 5s);
  const auto answers =
      run(client, {"set server ex/b1 weight 20", "set server ex/none weight 3",
                   "set server ex/b1 weight 300", "show servers state ex", "show info", "bogus"});
  ASSERT_TRUE(answers) << answers.error().text;
  ASSERT_EQ(answers->size(), 6U);
  EXPECT_EQ((*answers)[0], "");
  EXPECT_EQ((*answers)[1], "No such server.");
  EXPECT_EQ((*answers)[2], "Absolute weight can only be between 0 and 256 inclusive.");
  EXPECT_TRUE((*answers)[5].starts_with("Unknown command"));

  const auto states = parse_haproxy_states((*answers)[3]);
  ASSERT_TRUE(states) << states.error();
  ASSERT_EQ(states->size(), 2U);
  EXPECT_EQ((*states)[0].server, "b1");
  EXPECT_EQ((*states)[0].user_weight, 20U);
  EXPECT_EQ((*states)[0].initial_weight, 100U);
  EXPECT_EQ((*states)[0].port, 1U);
  EXPECT_EQ((*states)[1].admin & kForcedMaint, kForcedMaint);

  const auto info = parse_haproxy_info((*answers)[4]);
  ASSERT_TRUE(info) << info.error();
  EXPECT_GT(info->pid, 0U);
}

TEST_F(HaproxyClientTest, ReadsTheStatisticsOfARealHaproxy) {
  testing::Speaker agent(testing::Speaker::Kind::kAgent, "up 40%\n");
  const testing::Speaker backend(testing::Speaker::Kind::kHttp);
  const HaproxyProcess haproxy(
      "\nlisten ex\n    bind FRONT\n    server b1 127.0.0.1:" + std::to_string(backend.port()) +
      " weight 100 check inter 100ms agent-check agent-inter 50ms "
      "agent-send \"x\\n\" agent-port " +
      std::to_string(agent.port()) + "\n");
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  ASSERT_TRUE(testing::eventually([&] { return haproxy.stat("b1", "uweight") == "40"; }));
  HaproxyClient client(reactor_, haproxy.socket(), 5s);
  auto answers = run(client, {"show stat ex 6 -1"});
  ASSERT_TRUE(answers);
  auto stats = parse_haproxy_stats((*answers)[0]);
  ASSERT_TRUE(stats) << stats.error();
  ASSERT_EQ(stats->servers.size(), 1U);
  EXPECT_EQ(stats->servers[0].user_weight, 40U);
  EXPECT_EQ(stats->servers[0].agent_status, "L7OK");
  EXPECT_FALSE(is_agent_silent(stats->servers[0].agent_status));
  ASSERT_EQ(stats->backends.size(), 1U);
  EXPECT_EQ(stats->backends[0].mode, "http");
  EXPECT_EQ(stats->backends[0].algorithm, "roundrobin");

  agent.stop();
  ASSERT_TRUE(
      testing::eventually([&] { return haproxy.stat("b1", "agent_status").contains("L4CON"); }));
  answers = run(client, {"show stat ex 6 -1"});
  ASSERT_TRUE(answers);
  stats = parse_haproxy_stats((*answers)[0]);
  ASSERT_TRUE(stats);
  EXPECT_TRUE(is_agent_silent(stats->servers[0].agent_status)) << stats->servers[0].agent_status;
}

TEST_F(HaproxyClientTest, CarriesAThousandCommandsInOneBatch) {
  const HaproxyProcess haproxy(kSection);
  ASSERT_TRUE(haproxy.running()) << "haproxy does not run: tools/setup check";
  HaproxyClient client(reactor_, haproxy.socket(), 20s);
  std::vector<std::string> commands;
  for (size_t i = 0; i < 500; ++i) {
    commands.push_back("set server ex/b1 weight " + std::to_string(1 + i % 256));
    commands.emplace_back("show servers state ex");
  }
  const auto answers = run(client, commands);
  ASSERT_TRUE(answers) << answers.error().text;
  ASSERT_EQ(answers->size(), 1'000U);
  for (size_t i = 0; i < 500; ++i) {
    const auto states = parse_haproxy_states((*answers)[2 * i + 1]);
    ASSERT_TRUE(states);
    EXPECT_EQ(states->front().user_weight, 1 + i % 256);
  }
}

TEST_F(HaproxyClientTest, NamesWhatIsWrong) {
  HaproxyClient missing(reactor_, "/nonexistent/haproxy.sock", 1s);
  const auto answers = run(missing, {"show info"});
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().error, HaproxyErrc::kNoListener);
  EXPECT_EQ(answers.error().text,
            "/nonexistent/haproxy.sock: no_listener: No such file or directory");

  HaproxyClient nowhere(reactor_, "somewhere", 1s);
  EXPECT_EQ(run(nowhere, {"show info"}).error().error, HaproxyErrc::kNoListener);

  HaproxyClient unsafe(reactor_, "/x", 1s);
  for (const char* command : {"show info;disable server a/b", "show info\nshow stat", ""}) {
    EXPECT_EQ(run(unsafe, {command}).error().error, HaproxyErrc::kUnsafe) << command;
  }
}

TEST_F(HaproxyClientTest, ASilentListenerIsGivenUp) {
  const net::testing::RawListener listener;
  HaproxyClient client(reactor_, address_of(listener), 30ms);
  const auto answers = run(client, {"show info"});
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().error, HaproxyErrc::kTimeout);
  EXPECT_EQ(client.counters().failed[static_cast<size_t>(HaproxyErrc::kTimeout)].value(), 1U);
}

TEST_F(HaproxyClientTest, AnEarlyEndSaysHowFarItCame) {
  net::testing::RawListener listener;
  std::thread peer([&] {
    auto socket = listener.accept();
    socket.receive();
    socket.send("\n> \n> No such");
  });
  HaproxyClient client(reactor_, address_of(listener), 5s);
  const auto answers = run(client, {"set server a/b weight 1", "set server a/c weight 1"});
  peer.join();
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().error, HaproxyErrc::kLost);
  EXPECT_NE(answers.error().text.find("after 1 of 2 answers"), std::string::npos)
      << answers.error().text;
}

TEST_F(HaproxyClientTest, TooLongAnAnswerIsNotKept) {
  net::testing::RawListener listener;
  std::thread peer([&] {
    auto socket = listener.accept();
    socket.receive();
    socket.send(std::string(200'000, 'x'));
  });
  HaproxyClient client(reactor_, address_of(listener), 5s, 100'000);
  const auto answers = run(client, {"show info"});
  peer.join();
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().error, HaproxyErrc::kTooLarge);
}

TEST_F(HaproxyClientTest, BatchesBeyondTheBoundAreRefused) {
  const net::testing::RawListener listener;
  HaproxyClient client(reactor_, address_of(listener), 20ms);
  size_t busy = 0;
  size_t ended = 0;
  constexpr size_t kBatches = HaproxyClient::kMaxWaiting + 3;
  for (size_t i = 0; i < kBatches; ++i) {
    client.run({"show info"}, [&](const HaproxyAnswers& answers) {
      busy += answers.error().error == HaproxyErrc::kBusy ? 1 : 0;
      if (++ended == kBatches) {
        reactor_.stop();
      }
    });
  }
  reactor_.run();
  EXPECT_EQ(busy, 3U);
}

}  // namespace
}  // namespace spillway::adapters
