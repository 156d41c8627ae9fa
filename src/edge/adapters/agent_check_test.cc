#include "adapters/agent_check.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/test_kit.h"

namespace spillway::adapters {
namespace {

using namespace std::chrono_literals;
using net::testing::RawSocket;

TEST(AgentLine, HasTheExactWords) {
  EXPECT_EQ(agent_line({.word = AgentWord::kUp, .percent = 137}), "up 137%\n");
  EXPECT_EQ(agent_line({.word = AgentWord::kUpBare, .percent = 137}), "up\n");
  EXPECT_EQ(agent_line({.word = AgentWord::kDrain, .percent = 137}), "drain\n");
  EXPECT_EQ(agent_line({.word = AgentWord::kReadyUp, .percent = 20}), "ready up 20%\n");
}

TEST(AgentLine, NeverDrainsByAWeightOfZeroAndStaysInHaproxysRange) {
  EXPECT_EQ(agent_line({.word = AgentWord::kUp, .percent = 0}), "up 1%\n");
  EXPECT_EQ(agent_line({.word = AgentWord::kUp, .percent = 300}), "up 256%\n");
}

TEST(AgentLine, SpeaksTheAbsoluteWeightOnlyWhenToldTo) {
  EXPECT_EQ(agent_line({.word = AgentWord::kUp, .percent = 60, .absolute_weight = true}),
            "up 60% weight:60\n");
  EXPECT_EQ(agent_line({.word = AgentWord::kDrain, .percent = 60, .absolute_weight = true}),
            "drain\n");
}

class AgentCheck : public ::testing::Test {
 protected:
  explicit AgentCheck(size_t max_connections = 16) {
    thread_.sync([&] {
      server_ = std::make_unique<AgentCheckServer>(thread_.reactor, "127.0.0.1:0", max_connections);
      server_->set_reply({.word = AgentWord::kUp, .percent = 42});
      server_->start();
    });
  }

  ~AgentCheck() override {
    thread_.sync([&] { server_.reset(); });
  }

  [[nodiscard]] RawSocket call() const { return RawSocket::to(server_->port()); }

  // Whether the server has let go of every caller within some seconds of ticks.
  bool lets_go() {
    for (int i = 0; i < 500; ++i) {
      size_t open = 0;
      thread_.sync([&] {
        (void)thread_.reactor.refresh();
        server_->set_reply(server_->reply());
        open = server_->connections();
      });
      if (open == 0) {
        return true;
      }
      ::poll(nullptr, 0, 10);
    }
    return false;
  }

  net::testing::ReactorThread thread_;
  std::unique_ptr<AgentCheckServer> server_;
};

TEST_F(AgentCheck, AnswersOneLineToWhoeverConnectsAndSaysNoMore) {
  auto caller = call();
  EXPECT_EQ(caller.receive_all(), "up 42%\n");
  EXPECT_FALSE(caller.timed_out());
}

TEST_F(AgentCheck, ReadsAndIgnoresWhatItIsSent) {
  auto caller = call();
  ASSERT_TRUE(caller.send("agent/1 server=b1\n" + std::string(4'000, 'x')));
  EXPECT_EQ(caller.receive_all(), "up 42%\n");
  caller.close();
  EXPECT_TRUE(lets_go());
}

TEST_F(AgentCheck, LetsGoOfThoseThatClosedWhenTheNextAsks) {
  for (int i = 0; i < 5; ++i) {
    auto caller = call();
    ASSERT_TRUE(caller.send("x\n"));
    EXPECT_EQ(caller.receive_all(), "up 42%\n");
    caller.close();
    // Whoever comes in the same poll is not looked at: the next caller shall come in another.
    thread_.sync([&] { (void)thread_.reactor.refresh(); });
  }
  EXPECT_EQ(call().receive_all(), "up 42%\n");
  thread_.sync([&] { EXPECT_LE(server_->connections(), 2U); });
}

TEST_F(AgentCheck, GivesEveryCallerTheSameUntilItIsToldAnother) {
  EXPECT_EQ(call().receive_all(), "up 42%\n");
  EXPECT_EQ(call().receive_all(), "up 42%\n");
  thread_.sync([&] { server_->set_reply({.word = AgentWord::kDrain}); });
  EXPECT_EQ(call().receive_all(), "drain\n");
  thread_.sync([&] {
    EXPECT_EQ(server_->counters().answered.value(), 3U);
    const auto pollers = server_->pollers(thread_.reactor.refresh(), 5s);
    ASSERT_EQ(pollers.size(), 1U);
    EXPECT_EQ(pollers[0].address, "127.0.0.1");
  });
}

TEST_F(AgentCheck, LetsGoOfACallerThatNeverCloses) {
  const auto silent = call();
  const auto another = call();
  EXPECT_TRUE(lets_go());
}

class SmallAgentCheck : public AgentCheck {
 protected:
  SmallAgentCheck() : AgentCheck(2) {}
};

TEST_F(SmallAgentCheck, ClosesCallersOverItsBoundAndServesAgainWhenSomeHaveGone) {
  auto first = call();
  auto second = call();
  EXPECT_TRUE(first.receive());
  EXPECT_TRUE(second.receive());
  EXPECT_EQ(call().receive_all(), "");
  first.close();
  second.close();
  EXPECT_TRUE(lets_go());
  EXPECT_EQ(call().receive_all(), "up 42%\n");
  thread_.sync([&] { EXPECT_EQ(server_->counters().refused.value(), 1U); });
}

}  // namespace
}  // namespace spillway::adapters
