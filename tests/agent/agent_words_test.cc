// What each reply of an agent does to HAProxy 2.6: the words that the agent says, and those that it
// never may.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "agent/agent_process.h"
#include "agent/haproxy_process.h"
#include "agent/served_process.h"
#include "net/test_kit.h"

namespace spillway::e2e {
namespace {

/// Answers every poll with a text, whatever it is.
class ScriptedAgent {
 public:
  ScriptedAgent() : thread_([this] { run(); }) {}

  ScriptedAgent(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(const ScriptedAgent&) = delete;

  ~ScriptedAgent() {
    done_ = true;
    (void)net::testing::RawSocket::to(listener_.port());
    thread_.join();
  }

  [[nodiscard]] uint16_t port() const { return listener_.port(); }

  /// Returns when HAProxy has asked twice more, so that the first answer has acted.
  bool say(std::string text) {
    {
      const std::scoped_lock lock(mutex_);
      text_ = std::move(text);
    }
    const auto before = polls_.load();
    return becomes([&] { return polls_ >= before + 3; });
  }

 private:
  void run() {
    while (true) {
      auto caller = listener_.accept();
      if (done_) {
        return;
      }
      if (!caller) {
        continue;
      }
      std::string text;
      {
        const std::scoped_lock lock(mutex_);
        text = text_;
      }
      caller.send(text);
      caller.shut_write();
      while (caller.receive()) {
      }
      ++polls_;
    }
  }

  net::testing::RawListener listener_;
  std::mutex mutex_;
  std::string text_ = "up 50%\n";
  std::atomic<uint64_t> polls_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

class AgentWords : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(haproxy_.up()) << "haproxy does not run: tools/setup check";
    ASSERT_TRUE(becomes([&] { return state().operational == 2; }));
  }

  [[nodiscard]] ServerState state() const { return haproxy_.state("s"); }

  ServedProcess server_;
  ScriptedAgent agent_;
  HaproxyProcess haproxy_{{{.name = "s", .port = server_.port(), .agent_port = agent_.port()}}};
};

struct Golden {
  std::string_view reply;
  int weight;  ///< Expected after it, having been 50.
};

TEST_F(AgentWords, SetWeightsAsThePageSays) {
  constexpr Golden kGolden[] = {
      {"up 137%\n", 137}, {"up 1%\n", 1},    {"up 256%\n", 256},
      {"up 300%\n", 256}, {"75% \r\n", 75},  {"40% 70%\n", 70},
      {"40%,up\n", 40},   {"UP\t40%\n", 40}, {"up 60% weight:60\n", 60},
      {"up\n", 50},       {"60\n", 50},      {"hello\n", 50},
      {"-5%\n", 50},      {"up 20%", 50},    {"\n", 50},
      {"# up 10%\n", 50}, {"up\n40%\n", 50}, {"weight:60\n", 50},
  };
  for (const auto& [reply, weight] : kGolden) {
    ASSERT_TRUE(agent_.say("ready up 50%\n"));
    ASSERT_EQ(state().weight, 50);
    ASSERT_TRUE(agent_.say(std::string(reply)));
    EXPECT_EQ(state().weight, weight) << reply;
    EXPECT_EQ(state().admin, 0) << reply;
    EXPECT_EQ(state().operational, 2) << reply;
  }
}

TEST_F(AgentWords, ADrainIsEndedByReadyAndByNothingElse) {
  ASSERT_TRUE(agent_.say("drain\n"));
  EXPECT_EQ(state().admin, 0x08);
  ASSERT_TRUE(agent_.say("up 60%\n"));
  EXPECT_EQ(state().admin, 0x08);
  EXPECT_EQ(state().weight, 60);
  ASSERT_TRUE(agent_.say("ready up 20%\n"));
  EXPECT_EQ(state().admin, 0);
  EXPECT_EQ(state().weight, 20);
}

TEST_F(AgentWords, ReadyUndoesAnOperatorsMaintSoItIsNeverSaidByHabit) {
  (void)haproxy_.command("set server be/s state maint");
  ASSERT_TRUE(agent_.say("up 60%\n"));
  EXPECT_EQ(state().admin & 0x01, 0x01);
  ASSERT_TRUE(agent_.say("ready up 60%\n"));
  EXPECT_EQ(state().admin, 0);
}

TEST_F(AgentWords, DownWantsABlankBeforeItsReason) {
  ASSERT_TRUE(agent_.say("down#why\n"));
  EXPECT_EQ(state().operational, 2);
  ASSERT_TRUE(agent_.say("down # why\n"));
  EXPECT_EQ(state().operational, 0);
  ASSERT_TRUE(agent_.say("up 50%\n"));
  EXPECT_TRUE(becomes([&] { return state().operational == 2; }));
}

TEST_F(AgentWords, AnAgentThatIsGoneLeavesItsWeight) {
  ASSERT_TRUE(agent_.say("up 30%\n"));
  ASSERT_TRUE(agent_.say(""));
  EXPECT_EQ(state().weight, 30);
  EXPECT_EQ(state().operational, 2);
}

}  // namespace
}  // namespace spillway::e2e
